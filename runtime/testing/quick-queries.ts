import type {PGlite, Transaction} from '@electric-sql/pglite'
import {toHex} from '../protocol/hex.ts'
import {proxied} from './crashable-store.ts'

/**
 * The same database, asked with parameters written into the statement. PGlite's `query` makes five round trips into its
 * module, `exec` makes one, and a crash test makes some ten thousand queries.
 */
export function quickQueries(db: PGlite): PGlite {
  return proxied(db, (name, method) => {
    if (name === 'query') return queryOf(db)
    if (name === 'transaction')
      return <T>(work: (tx: Transaction) => Promise<T>) => db.transaction(tx => work(quickTransaction(tx)))
    return method
  })
}

function quickTransaction(tx: Transaction): Transaction {
  return proxied(tx, (name, method) => (name === 'query' ? queryOf(tx) : method))
}

function queryOf(db: Pick<PGlite, 'exec' | 'query'>) {
  return async (text: string, params: unknown[] = [], options?: Parameters<PGlite['query']>[2]) => {
    if (options) return await db.query(text, params, options)
    const results = await db.exec(text.replace(/\$(\d+)/g, (_, number) => literal(params[Number(number) - 1])))
    return results.at(-1)
  }
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'boolean') return String(value)
  // Parentheses: after a minus sign a negative number would begin a comment.
  if (typeof value === 'number' || typeof value === 'bigint') return `(${value})`
  if (value instanceof Uint8Array) return `'\\x${toHex(value)}'::bytea`
  if (value instanceof Date) return quoted(value.toISOString())
  if (Array.isArray(value)) return quoted(`{${value.map(element).join(',')}}`)
  return quoted(typeof value === 'string' ? value : JSON.stringify(value))
}

function element(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return `"${String(value).replace(/[\\"]/g, '\\$&')}"`
}

function quoted(text: string): string {
  if (text.includes('\0')) throw new Error('invalid byte sequence for encoding "UTF8": 0x00')
  return `'${text.replaceAll("'", "''")}'`
}
