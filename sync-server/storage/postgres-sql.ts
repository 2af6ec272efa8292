import * as z from 'zod'
import {checkOptions, havingMethods, positiveMs} from '../../runtime/protocol/check-options.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {withDeadline} from '../authority/deadline.ts'
import {asUnavailable, unavailable} from './postgres-unavailable.ts'
import type {Sql, SqlQuery, SqlRow, SqlValue} from './sql.ts'

type Result = {rows: unknown[]}

/** The part of `pg`'s client in use. The package itself is loaded only by users of Postgres. */
export type PostgresClient = {
  query(text: string, params?: unknown[]): Promise<Result>
  /** An argument removes the connection from the pool. */
  release(destroy?: Error | boolean): void
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** The part of `pg`'s `Pool` in use. */
export type PostgresPool = {
  query(text: string, params?: unknown[]): Promise<Result>
  connect(): Promise<PostgresClient>
}

/** All in milliseconds. */
export type PostgresTimeouts = {
  /** Timeout of one statement in Postgres. Default: 20,000. */
  statementMs: number
  /** Maximum wait of a statement for a lock. Default: 10,000. */
  lockMs: number
  /** Maximum idle time within a transaction, after which Postgres ends it. Default: 30,000. */
  idleInTransactionMs: number
  /** Maximum wait of this process for a response, in case the network is silent. Default: 25,000. */
  answerMs: number
}

const standardTimeouts: PostgresTimeouts = {
  statementMs: 20_000,
  lockMs: 10_000,
  idleInTransactionMs: 30_000,
  answerMs: 25_000,
}

const poolSchema = havingMethods('a Pool of pg', ['query', 'connect'])

/** The first three become part of a statement. Zero would disable the limit, so it is refused. */
export const timeoutsSchema = z
  .strictObject({statementMs: positiveMs, lockMs: positiveMs, idleInTransactionMs: positiveMs, answerMs: positiveMs})
  .partial()

/**
 * Adapts a `pg` pool to `Sql`. The host creates the pool and ends it. Errors not caused by a statement (Postgres
 * down, restarting, unresponsive, full, out of connections) are thrown as `unavailable`, within the timeouts. The
 * timeouts are sent with each BEGIN: this works through a pooler, costs no round trip, and lets Postgres clean up
 * after a process that crashed.
 *
 * @throws HoldfastError `misconfigured` naming every invalid option
 * @example
 * const pool = new pg.Pool({connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 5000})
 * const store = await openPgStore(pgSql(pool))
 */
export function pgSql(pool: PostgresPool, timeouts: Partial<PostgresTimeouts> = {}): Sql {
  checkOptions(poolSchema, pool, 'pgSql')
  checkOptions(timeoutsSchema, timeouts, 'pgSql: timeouts')
  const connections = new Connections(pool, {...standardTimeouts, ...timeouts})
  return {
    query: (text, params) => connections.use(client => queriesOf(client).query(text, params)),
    transaction: work => connections.use(client => inTransaction(client, connections.begin, work)),
  }
}

/** A connection with a deadline per statement. Every connection error marks it as broken. */
class Connection {
  broken: Error | undefined

  constructor(
    private readonly client: PostgresClient,
    private readonly answerMs: number,
  ) {}

  async query(text: string, params?: unknown[]): Promise<Result> {
    try {
      return await withDeadline('Postgres', this.answerMs, () => this.client.query(text, params))
    } catch (error) {
      const known = HoldfastError.is(error, 'deadline') ? unavailable(error) : asUnavailable(error)
      if (HoldfastError.is(known, 'unavailable') && endsConnection(error)) this.broken = known
      throw known
    }
  }
}

class Connections {
  readonly begin: string
  /**
   * Number of errors that make older connections suspect. After a timeout, they use the same silent network path.
   * After a refused write, they may lead to a former primary, which still answers reads and never closes them.
   */
  #doubts = 0
  readonly #known = new WeakMap<PostgresClient, number>()

  constructor(
    private readonly pool: PostgresPool,
    private readonly timeouts: PostgresTimeouts,
  ) {
    const {statementMs, lockMs, idleInTransactionMs} = timeouts
    this.begin = `BEGIN; SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = ${lockMs}; SET LOCAL idle_in_transaction_session_timeout = ${idleInTransactionMs}`
  }

  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await this.#take()
    const connection = new Connection(client, this.timeouts.answerMs)
    try {
      return await work(connection)
    } catch (error) {
      if (connection.broken && concernsOthers(connection.broken.cause)) this.#doubts += 1
      throw error
    } finally {
      client.release(connection.broken)
    }
  }

  async #take(): Promise<PostgresClient> {
    for (;;) {
      const client = await this.pool.connect().catch(error => {
        throw asUnavailable(error)
      })
      const since = this.#known.get(client)
      if (since === this.#doubts) return client
      if (since === undefined) {
        this.#known.set(client, this.#doubts)
        // A connection lost while in use between statements emits an error event, which would end the process.
        client.on?.('error', () => undefined)
        return client
      }
      client.release(true)
    }
  }
}

function queriesOf(connection: Connection): SqlQuery {
  return {
    query: async <Row extends SqlRow>(text: string, params: readonly SqlValue[] = []) =>
      (await connection.query(text, [...params])).rows as Row[],
  }
}

async function inTransaction<T>(connection: Connection, begin: string, work: (tx: SqlQuery) => Promise<T>): Promise<T> {
  try {
    await connection.query(begin)
    const value = await work(queriesOf(connection))
    await connection.query('COMMIT')
    return value
  } catch (error) {
    // A connection that cannot roll back may hold locks. Closing it makes the server roll back.
    if (!connection.broken) {
      await connection.query('ROLLBACK').catch(failure => {
        connection.broken ??= failure instanceof Error ? failure : new Error(String(failure))
      })
    }
    throw error
  }
}

/** True for a timeout and for a server that accepts no writes: other connections may be affected too. */
function concernsOthers(cause: unknown): boolean {
  return HoldfastError.is(cause, 'deadline') || (cause instanceof Error && 'code' in cause && cause.code === '25006')
}

/** False for errors that end only the transaction: the connection remains usable. */
function endsConnection(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return !/^(57014|55P03|40001|40P01|53[124]..)$/.test(code)
}
