import type {Sql} from './sql.ts'

/**
 * Removes erased rows from the files of the database. PGlite only: the folder belongs to this process alone. On Postgres
 * a rewrite would lock tables of every tenant, and archives, standbys and backups would keep the rows anyway.
 */
export interface FileScrubber {
  /** False on Postgres. */
  readonly possible: boolean
  /**
   * Rewrites every table that was written to since its last rewrite, then drops the write-ahead log. Stops before the
   * next table when the database is in use; the next call goes on from there. True only when all of it was done.
   * `others` rewrites the tables of the host, before the log that holds their old pages is dropped. With `overdue` it does
   * not stop for a database in use: requests then wait for one table at a time.
   */
  run(others?: () => Promise<void>, overdue?: boolean): Promise<boolean>
}

/** @param busy whether a statement runs or waits */
export async function fileScrubber(sql: Sql, busy: () => boolean): Promise<FileScrubber> {
  const [row] = await sql.query<{version: string}>('SELECT version() AS version')
  if (!row || !isPGlite(row.version)) return {possible: false, run: async () => false}
  const clean = new Map<string, string>()
  return {
    possible: true,
    run: (others, overdue = false) => rewriteWritten(sql, {clean, busy: () => !overdue && busy(), others}),
  }
}

/** PGlite is the Postgres that was compiled to WebAssembly. */
function isPGlite(version: string): boolean {
  return /emcc|emscripten|wasm/i.test(version)
}

type Table = {name: string; writes: string}

type Rewrite = {clean: Map<string, string>; busy(): boolean; others: (() => Promise<void>) | undefined}

async function rewriteWritten(sql: Sql, {clean, busy, others}: Rewrite): Promise<boolean> {
  if (busy()) return false
  const written = (await tablesOf(sql)).filter(({name, writes}) => clean.get(name) !== writes)
  for (const {name, writes} of written) {
    if (busy()) return false
    await sql.query(`VACUUM (FULL) ${name}`)
    // As of before: what was written meanwhile counts for the next time.
    clean.set(name, writes)
  }
  if (busy()) return false
  await others?.()
  if (busy()) return false
  await dropLog(sql)
  return true
}

/**
 * The tables with the number of rows that were ever written or deleted in them, rolled back ones included. Any dead row
 * may hold erased text, not only those that the erasure itself deleted.
 */
async function tablesOf(sql: Sql): Promise<Table[]> {
  await sql.query('SELECT pg_stat_force_next_flush()')
  return sql.query<Table>(
    `SELECT relname AS name, (n_tup_ins + n_tup_upd + n_tup_del)::text AS writes FROM pg_stat_user_tables
     WHERE schemaname = current_schema() AND relname LIKE 'hf\\_%' ORDER BY relname`,
  )
}

/** A segment that is recycled instead of dropped would keep the old pages. */
async function dropLog(sql: Sql): Promise<void> {
  await sql.query(`SELECT set_config('wal_recycle', 'off', false)`)
  await sql.query('CHECKPOINT')
  await sql.query('SELECT pg_switch_wal()')
  await sql.query('CHECKPOINT')
}
