import {readGeneration, writeGeneration} from './generation.ts'
import {type OpenedDatabase, orClose, type Stopped} from './opened-database.ts'
import {startPGlite} from './start-pglite.ts'

const kind = {storage: 'indexeddb', recovery: null} as const

/**
 * Where OPFS has no synchronous handles: IndexedDB, strict, about 170 ms a write. A database without a generation
 * never finished its first open or lost its rows; either way another is begun beside it.
 */
export async function openIndexedDb(
  name: string,
  prepared: () => Promise<Blob>,
  onStopped?: Stopped,
): Promise<OpenedDatabase> {
  for (let number = 1; ; number++) {
    const place = number === 1 ? `holdfast-${name}` : `holdfast-${name}~${number}`
    if (!(await exists(place))) return begin(place, prepared, number, onStopped)
    const db = await startPGlite({dataDir: `idb://${place}`}, onStopped).catch(() => undefined)
    if (!db) continue
    if (await orClose(db, () => readGeneration(db))) return {...kind, db, fresh: false, close: () => db.close()}
    await db.close()
  }
}

async function begin(
  place: string,
  prepared: () => Promise<Blob>,
  number: number,
  onStopped: Stopped | undefined,
): Promise<OpenedDatabase> {
  const loadDataDir = await prepared()
  const db = await startPGlite({dataDir: `idb://${place}`, loadDataDir}, onStopped)
  await orClose(db, () => writeGeneration(db, crypto.randomUUID()))
  return {...kind, db, fresh: true, ...(number > 1 && {recovered: 'quarantined'}), close: () => db.close()}
}

async function exists(place: string): Promise<boolean> {
  return (await indexedDB.databases()).some(({name}) => name === `/pglite/${place}`)
}
