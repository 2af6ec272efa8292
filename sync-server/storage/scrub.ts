import type {Sql} from './sql.ts'

/**
 * A deleted row stays readable in the files of Postgres: in its page until that is written anew, and in the write-ahead
 * log. So every table is rewritten, and the log that holds the old pages is closed and dropped. On a Postgres server the
 * setting `wal_recycle = off` is needed too, else an old piece of the log may lie about until it is overwritten; PGlite
 * takes it from the session. Archives and backups are the host's.
 */
export async function scrub(sql: Sql): Promise<boolean> {
  const tables = await sql.query<{name: string}>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'hf\\_%'`,
  )
  for (const {name} of tables) await sql.query(`VACUUM (FULL) ${name}`)
  return dropOldLog(sql)
}

async function dropOldLog(sql: Sql): Promise<boolean> {
  try {
    const keeps = await keepsOldLog(sql)
    await sql.query('CHECKPOINT')
    await sql.query('SELECT pg_switch_wal()')
    await sql.query('CHECKPOINT')
    return !keeps
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '42501') return false
    throw error
  }
}

/** On a server another process drops the log, by the setting of its own; PGlite is one process, and ours. */
async function keepsOldLog(sql: Sql): Promise<boolean> {
  const [server] = await sql.query(`SELECT 1 FROM pg_stat_activity WHERE backend_type = 'checkpointer'`)
  if (!server) await sql.query(`SELECT set_config('wal_recycle', 'off', false)`)
  const [row] = await sql.query<{setting: string}>(`SELECT setting FROM pg_settings WHERE name = 'wal_recycle'`)
  return row?.setting !== 'off'
}
