import {migrations} from './migrations.ts'
import type {Sql} from './sql.ts'

/** Any number, as long as it stays the same: "hold" in ASCII. */
const migrationLock = 0x686f6c64

/** Brings the schema up to date: each step once, whole or not at all, also when several processes start together. */
export async function migrate(sql: Sql): Promise<void> {
  await sql.transaction(async tx => {
    // IF NOT EXISTS is no lock: of two processes that start together on Postgres one would fail.
    await tx.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
    await tx.query('CREATE TABLE IF NOT EXISTS hf_migrations (name TEXT PRIMARY KEY)')
  })
  for (const {name, statements} of migrations) {
    await sql.transaction(async tx => {
      // A step may rewrite a large table, and waits for the process that is at it.
      for (const limit of ['statement_timeout', 'lock_timeout']) await tx.query(`SET LOCAL ${limit} = 0`)
      // The insert is the lock: a second process waits here until the first has committed, then finds the row.
      const claimed = await tx.query(
        'INSERT INTO hf_migrations (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING name',
        [name],
      )
      if (claimed.length === 0) return
      // Row security holds for the tables' own owner too; a step may have to rewrite the rows of every tenant.
      await tx.query(`SELECT set_config('holdfast.across', 'migration', true)`)
      for (const statement of statements) await tx.query(statement)
    })
  }
}

/** True when every step that this build knows has been made; steps of a newer build do no harm. */
export async function isMigrated(sql: Sql): Promise<boolean> {
  // Locks no row. A server that takes no writes refuses it, so that a standby does not pass for ready.
  await sql.query('SELECT name FROM hf_migrations WHERE false FOR UPDATE')
  const made = await sql.query<{name: string}>('SELECT name FROM hf_migrations')
  const names = new Set(made.map(({name}) => name))
  return migrations.every(({name}) => names.has(name))
}
