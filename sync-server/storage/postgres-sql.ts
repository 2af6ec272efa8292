import * as z from 'zod'
import {checkOptions, havingMethods, positiveMs} from '../../runtime/protocol/check-options.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {withDeadline} from '../authority/deadline.ts'
import {asUnavailable, unavailable} from './postgres-unavailable.ts'
import type {Sql, SqlQuery, SqlRow, SqlValue} from './sql.ts'

type Result = {rows: unknown[]}

/** The part of `pg`'s client that is needed; the package itself is loaded only by who uses Postgres. */
export type PostgresClient = {
  query(text: string, params?: unknown[]): Promise<Result>
  /** An argument takes the connection out of the pool for good. */
  release(destroy?: Error | boolean): void
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** The part of `pg`'s `Pool` that is needed. */
export type PostgresPool = {
  query(text: string, params?: unknown[]): Promise<Result>
  connect(): Promise<PostgresClient>
}

/** All in milliseconds. */
export type PostgresTimeouts = {
  /** What Postgres gives one statement. Default: 20,000. */
  statementMs: number
  /** What a statement waits for a lock. Default: 10,000. */
  lockMs: number
  /** What a transaction may rest between two statements before Postgres ends it. Default: 30,000. */
  idleInTransactionMs: number
  /** What this process waits for an answer, in case the network is silent. Default: 25,000. */
  answerMs: number
}

const standardTimeouts: PostgresTimeouts = {
  statementMs: 20_000,
  lockMs: 10_000,
  idleInTransactionMs: 30_000,
  answerMs: 25_000,
}

const poolSchema = havingMethods('a Pool of pg', ['query', 'connect'])

/** The first three become part of a statement. Zero is no limit there, so it is refused. */
export const timeoutsSchema = z
  .strictObject({statementMs: positiveMs, lockMs: positiveMs, idleInTransactionMs: positiveMs, answerMs: positiveMs})
  .partial()

/**
 * Speaks `Sql` to a Postgres through a pool of `pg` that the host has made and will end. Whatever is no fault of a
 * statement (Postgres down, restarting, silent, full, out of connections) comes as `unavailable`, and never later than
 * the timeouts say. The limits travel with each BEGIN, so that they work through a pooler too and cost no round trip;
 * Postgres ends by them what a process that vanished has left behind.
 *
 * @throws HoldfastError `misconfigured` naming every wrong option
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

/** A connection on which every statement has a deadline and every fault of the connection marks it as broken. */
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
   * Counts the faults that make older connections suspect. After a silence, they went over the same path. After a refused
   * write, they may lead to a former primary, which answers reads as before and never closes them.
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
        // Lost while it is in use and no statement runs, a connection says so by an event that would end the process.
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
    // A connection that cannot roll back may hold locks; it is closed, which makes the server roll back.
    if (!connection.broken) {
      await connection.query('ROLLBACK').catch(failure => {
        connection.broken ??= failure instanceof Error ? failure : new Error(String(failure))
      })
    }
    throw error
  }
}

/** True for a silent connection and for one to a server that takes no writes: the others may be no better. */
function concernsOthers(cause: unknown): boolean {
  return HoldfastError.is(cause, 'deadline') || (cause instanceof Error && 'code' in cause && cause.code === '25006')
}

/** After these the connection still works, and only its transaction is over. */
function endsConnection(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return !/^(57014|55P03|40001|40P01|53[124]..)$/.test(code)
}
