import pg from 'pg'
import * as z from 'zod'
import {amountOf, checkOptions, functionSchema, positiveMs} from '../runtime/protocol/check-options.ts'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {postgresUrl} from './postgres-url.ts'
import {type PostgresPool, type PostgresTimeouts, pgSql, timeoutsSchema} from './storage/postgres-sql.ts'
import type {Sql} from './storage/sql.ts'

export {openPostgresBus, type PostgresBus, type PostgresBusOptions} from './postgres-bus.ts'
export {type PostgresClient, type PostgresPool, type PostgresTimeouts, pgSql} from './storage/postgres-sql.ts'

export type OpenedPostgres = {
  sql: Sql
  /** For the application's own tables in the same database; a `Pool` of `pg`, whose own types need no installing. */
  pool: PostgresPool
  /** Resolves when every connection is closed. */
  close(): Promise<void>
}

const postgresOptions = z.strictObject({
  url: postgresUrl,
  connections: amountOf(1).optional(),
  connectMs: positiveMs.optional(),
  timeouts: timeoutsSchema.optional(),
  onFault: functionSchema.optional(),
})

/**
 * Connects to a Postgres, 15 or later; any number of stateless server processes may share one.
 *
 * @throws HoldfastError `misconfigured` naming every wrong option, and when no Postgres answers at the address; never
 * with the password in it
 * @example
 * const {sql, close} = await openPostgres({url: process.env.DATABASE_URL})
 * const store = await openPgStore(sql)
 */
export async function openPostgres(options: {
  /** Like `postgres://user:password@host:5432/database`. */
  url: string
  /** Connections of this process. Default: 10. */
  connections?: number
  /** Milliseconds to connect, or to wait for a free connection, before a request is refused. Default: 5,000. */
  connectMs?: number
  /** How long statements, locks and silences may last. See `PostgresTimeouts` for the defaults. */
  timeouts?: Partial<PostgresTimeouts>
  /** Called with the error of a connection that broke while nobody used it; the pool replaces it by itself. */
  onFault?: (error: unknown) => void
}): Promise<OpenedPostgres> {
  checkOptions(postgresOptions, options, 'openPostgres')
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections ?? 10,
    connectionTimeoutMillis: options.connectMs ?? 5000,
    // Node probes ten times, a second apart, after this much silence.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'holdfast',
  })
  // Without a listener a connection that breaks in the pool would end the process.
  pool.on('error', error => options.onFault?.(error))
  // Nor does the pool listen to a connection that is in use, or that it has just thrown out.
  pool.on('connect', client => client.on('error', () => undefined))
  try {
    await pool.query('SELECT 1')
  } catch (error) {
    await pool.end()
    const {code = 'no code'} = error as {code?: string}
    throw new HoldfastError('misconfigured', `Postgres cannot be used at the address given (${code}).`, {cause: error})
  }
  return {sql: pgSql(pool, options.timeouts), pool, close: () => pool.end()}
}
