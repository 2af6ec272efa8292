import type {PGlite} from '@electric-sql/pglite'
import {afterAll, beforeAll} from 'vitest'
import {openNodeDatabase} from '../../../runtime/storage/pglite/open-node.ts'
import {openPgStore, pgliteSql, type Sql, type Store} from '../../../sync-server/index.ts'

export type TestDatabase = {readonly db: PGlite; readonly sql: Sql; readonly store: Store}

/** One database in memory for the whole file; tests keep apart by their tenants. */
export function testDatabase(): TestDatabase {
  let opened: (TestDatabase & {close(): Promise<void>}) | null = null
  beforeAll(async () => {
    // From the prepared folder, which is several times faster than initdb.
    const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
    const sql = pgliteSql(db)
    opened = {db, sql, store: await openPgStore(sql), close}
  })
  afterAll(() => opened?.close())
  const get = (): TestDatabase => {
    if (!opened) throw new Error('the database is not open yet')
    return opened
  }
  return {
    get db() {
      return get().db
    },
    get sql() {
      return get().sql
    },
    get store() {
      return get().store
    },
  }
}
