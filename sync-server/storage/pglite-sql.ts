import {requirePGlite} from './require-sql.ts'
import type {Sql, SqlQuery, SqlRow, SqlValue} from './sql.ts'

/** The methods of PGlite in use, so that other PGlite versions are accepted too. */
type Queryable = {
  query<Row>(text: string, params?: SqlValue[]): Promise<{rows: Row[]}>
}
export type PGliteLike = Queryable & {
  transaction<Result>(work: (tx: Queryable) => Promise<Result>): Promise<Result>
}

/**
 * Adapts a PGlite of any version to `Sql`. The host opens, locks and closes it: two processes on one folder lose
 * data.
 *
 * @throws HoldfastError `misconfigured` if `db` is not an opened PGlite
 * @example
 * const store = await openPgStore(pgliteSql(await PGlite.create('./data')))
 */
export function pgliteSql(db: PGliteLike): Sql {
  requirePGlite(db, 'pgliteSql')
  return {...queriesOf(db), transaction: work => db.transaction(tx => work(queriesOf(tx)))}
}

function queriesOf(db: Queryable): SqlQuery {
  return {
    query: async <Row extends SqlRow>(text: string, params: readonly SqlValue[] = []) =>
      (await db.query<Row>(text, [...params])).rows,
  }
}
