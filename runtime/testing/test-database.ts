import type {PGlite} from '@electric-sql/pglite'
import {openNodeDatabase} from '../storage/pglite/open-node.ts'
import {quickQueries} from './quick-queries.ts'

/** A real database in memory that can be brought back to an earlier content without being opened again. */
export interface TestDatabase {
  readonly db: PGlite
  /** Remembers every row there is; the function that it returns brings exactly those back, and lasts. */
  snapshot(): Promise<() => Promise<void>>
  close(): Promise<void>
}

/**
 * Opens Postgres in memory for tests. Opening takes a second, going back to a snapshot a millisecond.
 *
 * @example
 * const {db, snapshot, close} = await openTestDatabase()
 * const restore = await snapshot()
 */
export async function openTestDatabase(): Promise<TestDatabase> {
  const {db: opened, close} = await openNodeDatabase({dataDir: 'memory://'})
  const db = quickQueries(opened)
  return {
    db,
    close,
    async snapshot() {
      const kept = new Map<string, string>()
      for (const table of await tablesOf(db)) {
        const {rows} = await db.query<{rows: string | null}>(`select json_agg(t)::text as rows from "${table}" t`)
        if (rows[0]?.rows) kept.set(table, rows[0].rows)
      }
      return () => restore(db, kept)
    },
  }
}

async function tablesOf(db: PGlite): Promise<string[]> {
  const {rows} = await db.query<{name: string}>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  return rows.map(({name}) => name)
}

/** In one go, with foreign keys left unchecked: what is put back was consistent when it was remembered. */
async function restore(db: PGlite, kept: ReadonlyMap<string, string>): Promise<void> {
  const tables = await tablesOf(db)
  const put = [...kept].map(
    ([table, rows]) =>
      `insert into "${table}" select * from json_populate_recordset(null::"${table}", '${rows.replaceAll("'", "''")}')`,
  )
  const statements = [...tables.map(table => `delete from "${table}"`), ...put]
  await db.exec(['begin', 'set local session_replication_role = replica', ...statements, 'commit'].join(';\n'))
}
