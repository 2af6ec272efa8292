import type {PGlite} from '@electric-sql/pglite'
import {damaged} from './opened-database.ts'

/**
 * A database and the place that holds it carry the same random name, its generation. A database that lost its
 * name, or answers to another, is not the one that was written: it must not be taken for an empty new one.
 */
export async function writeGeneration(db: PGlite, generation: string): Promise<void> {
  await db.exec('CREATE TABLE IF NOT EXISTS holdfast_meta (key text PRIMARY KEY, value text NOT NULL)')
  await db.query(
    "INSERT INTO holdfast_meta (key, value) VALUES ('generation', $1) ON CONFLICT (key) DO UPDATE SET value = $1",
    [generation],
  )
}

export async function readGeneration(db: PGlite): Promise<string | undefined> {
  const {rows: found} = await db.query<{present: boolean}>("SELECT to_regclass('holdfast_meta') IS NOT NULL AS present")
  if (!found[0]?.present) return undefined
  const {rows} = await db.query<{value: string}>("SELECT value FROM holdfast_meta WHERE key = 'generation'")
  return rows[0]?.value
}

/** Throws 'database_damaged' unless this is the database that was written here. */
export async function requireGeneration(db: PGlite, generation: string): Promise<void> {
  if ((await readGeneration(db)) !== generation) throw damaged('it is not the one that was written here')
}
