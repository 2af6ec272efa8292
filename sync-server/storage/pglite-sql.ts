import type {PGlite} from '@electric-sql/pglite'
import type {Sql, SqlQuery, SqlRow, SqlValue} from './sql.ts'

type Queryable = Pick<PGlite, 'query'>

/**
 * Speaks `Sql` to a PGlite that the host has opened and will close; two openers of one folder lose data, so the lock
 * on the folder is the host's too.
 *
 * @example
 * const store = await openPgStore(pgliteSql(await PGlite.create('./data')))
 */
export function pgliteSql(db: PGlite): Sql {
  return {...queriesOf(db), transaction: work => db.transaction(tx => work(queriesOf(tx)))}
}

function queriesOf(db: Queryable): SqlQuery {
  return {
    query: async <Row extends SqlRow>(text: string, params: readonly SqlValue[] = []) =>
      (await db.query<Row>(text, [...params])).rows,
  }
}
