import {PGlite} from '@electric-sql/pglite'
import {readGeneration, writeGeneration} from './generation.ts'
import type {OpenedDatabase} from './opened-database.ts'
import {pgliteOptions} from './pglite-options.ts'

/**
 * Where OPFS has no synchronous handles: IndexedDB, strict, about 170 ms a write. A database without a generation
 * never finished its first open or lost its rows; either way another is begun beside it.
 */
export async function openIndexedDb(name: string, prepared: () => Promise<Blob>): Promise<OpenedDatabase> {
  for (let number = 1; ; number++) {
    const place = number === 1 ? `holdfast-${name}` : `holdfast-${name}~${number}`
    if (!(await exists(place))) return begin(place, prepared, number)
    const db = await PGlite.create({...pgliteOptions(), dataDir: `idb://${place}`}).catch(() => undefined)
    if (db && (await readGeneration(db))) return {db, fresh: false, close: () => db.close()}
    await db?.close()
  }
}

async function begin(place: string, prepared: () => Promise<Blob>, number: number): Promise<OpenedDatabase> {
  const loadDataDir = await prepared()
  const db = await PGlite.create({...pgliteOptions(), dataDir: `idb://${place}`, loadDataDir})
  await writeGeneration(db, crypto.randomUUID())
  return {db, fresh: true, ...(number > 1 && {recovered: 'quarantined'}), close: () => db.close()}
}

async function exists(place: string): Promise<boolean> {
  return (await indexedDB.databases()).some(({name}) => name === `/pglite/${place}`)
}
