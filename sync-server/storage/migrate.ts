import {migrations} from './migrations.ts'
import type {Sql} from './sql.ts'

/** Key of the advisory lock: "hold" in ASCII. Arbitrary, but must never change. */
const migrationLock = 0x686f6c64

/**
 * Applies the pending migrations, each in its own transaction and once, also if several processes start concurrently.
 */
export async function migrate(sql: Sql): Promise<void> {
  await sql.transaction(async tx => {
    // IF NOT EXISTS takes no lock: of two processes starting concurrently on Postgres, one would fail.
    await tx.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
    await tx.query('CREATE TABLE IF NOT EXISTS hf_migrations (name TEXT PRIMARY KEY)')
  })
  for (const {name, statements} of migrations) {
    await sql.transaction(async tx => {
      // A migration may rewrite a large table, or wait for another process that does.
      for (const limit of ['statement_timeout', 'lock_timeout']) await tx.query(`SET LOCAL ${limit} = 0`)
      // The insert is the lock: a second process waits here until the first has committed, then finds the row.
      const claimed = await tx.query(
        'INSERT INTO hf_migrations (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING name',
        [name],
      )
      if (claimed.length === 0) return
      // Row-level security also applies to the table owner, and a migration may rewrite the rows of every tenant.
      await tx.query(`SELECT set_config('holdfast.across', 'migration', true)`)
      for (const statement of statements) await tx.query(statement)
    })
  }
}

/** True if every migration of this build is applied. Migrations of a newer build do not matter. */
export async function isMigrated(sql: Sql): Promise<boolean> {
  // Locks no row, but a server that accepts no writes refuses it. Otherwise a standby would pass as ready.
  await sql.query('SELECT name FROM hf_migrations WHERE false FOR UPDATE')
  const made = await sql.query<{name: string}>('SELECT name FROM hf_migrations')
  const names = new Set(made.map(({name}) => name))
  return migrations.every(({name}) => names.has(name))
}
