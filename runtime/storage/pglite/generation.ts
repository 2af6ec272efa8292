import type {PGlite} from '@electric-sql/pglite'
import {damaged} from './opened-database.ts'

/**
 * Stores the generation in the database. The generation is a random id that the marker beside the files carries too. A
 * database without it, or with another one, lost data or was replaced, and must not be used as a new one.
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

/** @throws HoldfastError `database_damaged` unless the database has this generation */
export async function requireGeneration(db: PGlite, generation: string): Promise<void> {
  if ((await readGeneration(db)) !== generation) throw damaged('it is not the one that was written here')
}
