import {requirePGlite} from './require-sql.ts'
import type {Sql, SqlQuery, SqlRow, SqlValue} from './sql.ts'

/** What is called of a PGlite, so that one of another version than this package's own fits as well. */
type Queryable = {
  query<Row>(text: string, params?: SqlValue[]): Promise<{rows: Row[]}>
}
export type PGliteLike = Queryable & {
  transaction<Result>(work: (tx: Queryable) => Promise<Result>): Promise<Result>
}

/**
 * Adapts a PGlite of any version to `Sql`. The host opens, locks and closes it: two processes that open one folder
 * lose data.
 *
 * @throws HoldfastError `misconfigured` for anything but an opened PGlite
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
