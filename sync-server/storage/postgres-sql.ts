import type {Sql, SqlQuery, SqlRow, SqlValue} from './sql.ts'

type Result = {rows: unknown[]}

/** The part of `pg`'s client that is needed; the package itself is loaded only by who uses Postgres. */
export type PostgresClient = {
  query(text: string, params?: unknown[]): Promise<Result>
  /** An argument takes the connection out of the pool for good. */
  release(destroy?: Error | boolean): void
}

/** The part of `pg`'s `Pool` that is needed. */
export type PostgresPool = {
  query(text: string, params?: unknown[]): Promise<Result>
  connect(): Promise<PostgresClient>
}

/**
 * Speaks `Sql` to a Postgres through a pool of `pg` that the host has made and will end.
 *
 * @example
 * const pool = new pg.Pool({connectionString: process.env.DATABASE_URL})
 * const store = await openPgStore(pgSql(pool))
 */
export function pgSql(pool: PostgresPool): Sql {
  return {...queriesOf(pool), transaction: work => inTransaction(pool, work)}
}

function queriesOf(db: Pick<PostgresPool, 'query'>): SqlQuery {
  return {
    query: async <Row extends SqlRow>(text: string, params: readonly SqlValue[] = []) =>
      (await db.query(text, [...params])).rows as Row[],
  }
}

async function inTransaction<T>(pool: PostgresPool, work: (tx: SqlQuery) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    const value = await work(queriesOf(client))
    await client.query('COMMIT')
    return value
  } catch (error) {
    // A connection that cannot roll back may hold locks; it is closed, which makes the server roll back.
    await client.query('ROLLBACK').catch(failure => {
      broken = failure instanceof Error ? failure : new Error(String(failure))
    })
    throw error
  } finally {
    client.release(broken)
  }
}
