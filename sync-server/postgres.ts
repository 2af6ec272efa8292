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
  /** A `pg` pool, for the application's own tables in the same database. `@types/pg` is not required. */
  pool: PostgresPool
  /** Closes the pool. Resolves when every connection is closed. */
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
 * Connects to Postgres 15 or later. Any number of stateless server processes may share one database.
 *
 * @throws HoldfastError `misconfigured` naming every invalid option, and if Postgres cannot be reached. Errors never
 * contain the password.
 * @example
 * const {sql, close} = await openPostgres({url: process.env.DATABASE_URL})
 * const store = await openPgStore(sql)
 */
export async function openPostgres(options: {
  /** Connection URL, for example `postgres://user:password@host:5432/database`. */
  url: string
  /** Maximum number of connections of this process. Default: 10. */
  connections?: number
  /** Milliseconds to connect, or to wait for a free connection, before a request is refused. Default: 5,000. */
  connectMs?: number
  /** Timeouts of statements, locks and unresponsive connections. For the defaults, see `PostgresTimeouts`. */
  timeouts?: Partial<PostgresTimeouts>
  /** Called with the error of an idle connection that broke. The pool replaces the connection. */
  onFault?: (error: unknown) => void
}): Promise<OpenedPostgres> {
  checkOptions(postgresOptions, options, 'openPostgres')
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections ?? 10,
    connectionTimeoutMillis: options.connectMs ?? 5000,
    // After this idle time Node sends up to ten keep-alive probes, one second apart.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'holdfast',
  })
  // Without this listener, an idle connection that breaks would end the process.
  pool.on('error', error => options.onFault?.(error))
  // The pool does not handle errors of connections that are in use or that it has just removed.
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
