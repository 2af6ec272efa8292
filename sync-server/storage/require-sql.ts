import {checkOptions, havingMethods} from '../../runtime/protocol/check-options.ts'

const methods = ['query', 'transaction']
const database = havingMethods('an opened PGlite', methods)

/** A PGlite has the methods of a `Sql`, but returns an object instead of rows. */
const sqlSchema = havingMethods('a Sql, as pgliteSql or openPostgres returns it', methods).refine(
  value => !('exec' in (value as object)),
  'expected a Sql, got a PGlite: pass pgliteSql(db)',
)

/** @throws HoldfastError `misconfigured` */
export function requireSql(sql: unknown, entry: string): void {
  checkOptions(sqlSchema, sql, entry)
}

/** @throws HoldfastError `misconfigured` */
export function requirePGlite(db: unknown, entry: string): void {
  checkOptions(database, db, entry)
}
