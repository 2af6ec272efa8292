import type {Sql} from './sql.ts'

/**
 * Removes erased rows from the database files. PGlite only, where the folder belongs to this process. On Postgres a
 * rewrite would lock tables of all tenants, and archives, standbys and backups would keep the rows anyway.
 */
export interface FileScrubber {
  /** False on Postgres. */
  readonly possible: boolean
  /**
   * Rewrites every table written to since its last rewrite, then drops the write-ahead log. Returns true if all of it
   * was done. Stops before the next table if the database is in use; the next call continues from there. `others`
   * rewrites the host's tables, before the log with their old pages is dropped. With `overdue` it does not stop:
   * requests then wait for one table at a time.
   */
  run(others?: () => Promise<void>, overdue?: boolean): Promise<boolean>
}

/** @param busy returns whether a statement runs or waits */
export async function fileScrubber(sql: Sql, busy: () => boolean): Promise<FileScrubber> {
  const [row] = await sql.query<{version: string}>('SELECT version() AS version')
  if (!row || !isPGlite(row.version)) return {possible: false, run: async () => false}
  const clean = new Map<string, string>()
  return {
    possible: true,
    run: (others, overdue = false) => rewriteWritten(sql, {clean, busy: () => !overdue && busy(), others}),
  }
}

/** PGlite is Postgres compiled to WebAssembly. */
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
    // The count before the rewrite: later writes make the table due again.
    clean.set(name, writes)
  }
  if (busy()) return false
  await others?.()
  if (busy()) return false
  await dropLog(sql)
  return true
}

/**
 * Returns the tables with the number of rows ever written or deleted, including rolled back ones. Any dead row may
 * contain erased text, not only rows that the erasure deleted.
 */
async function tablesOf(sql: Sql): Promise<Table[]> {
  await sql.query('SELECT pg_stat_force_next_flush()')
  return sql.query<Table>(
    `SELECT relname AS name, (n_tup_ins + n_tup_upd + n_tup_del)::text AS writes FROM pg_stat_user_tables
     WHERE schemaname = current_schema() AND relname LIKE 'hf\\_%' ORDER BY relname`,
  )
}

/** Disables recycling first: a recycled segment would keep the old pages. */
async function dropLog(sql: Sql): Promise<void> {
  await sql.query(`SELECT set_config('wal_recycle', 'off', false)`)
  await sql.query('CHECKPOINT')
  await sql.query('SELECT pg_switch_wal()')
  await sql.query('CHECKPOINT')
}
