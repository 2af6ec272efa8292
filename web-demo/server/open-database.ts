import {openNodeDatabase} from '../../runtime/node.ts'
import {pgliteSql, type Sql} from '../../sync-server/index.ts'

export type Database = {sql: Sql; close(): Promise<void>}

/** Postgres when there is an address of one, else PGlite in the folder; `pg` is loaded only when it is needed. */
export async function openDatabase(dataDir: string, databaseUrl?: string): Promise<Database> {
  if (databaseUrl) {
    const {openPostgres} = await import('../../sync-server/postgres.ts')
    return openPostgres({url: databaseUrl})
  }
  const {db, close} = await openNodeDatabase({dataDir})
  return {sql: pgliteSql(db), close}
}
