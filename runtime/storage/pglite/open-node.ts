import {mkdir, rm} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import type {PGlite} from '@electric-sql/pglite'
import * as z from 'zod'
import {checkOptions, dataDirSchema, functionSchema} from '../../protocol/check-options.ts'
import {HoldfastError} from '../../protocol/errors.ts'
import {cannotOpen, mayBeginAnew} from './cannot-open.ts'
import {unreadable} from './check-files.ts'
import {lockFolder} from './folder-lock.ts'
import {writeGeneration} from './generation.ts'
import {markerFile, markReady, markUnfinished, readMarker} from './node-marker.ts'
import {type OpenedDatabase, orClose, type Stopped} from './opened-database.ts'
import {preparedVersion, readDataDir} from './prepared-files.ts'
import {databaseFolder, moveAside, namesIn} from './set-aside.ts'
import {type DatabasePlace, startInFolder} from './start-in-folder.ts'
import {type DamageOptions, startPGlite} from './start-pglite.ts'

/**
 * Policy for a database that is proven damaged, or that another build wrote.
 * - `refuse`: changes nothing. The open fails with the cause.
 * - `begin_anew`: sets its files aside in the same folder and creates an empty database.
 *
 * A file that this process is not allowed to read never counts as damage.
 */
export type DamagePolicy = 'refuse' | 'begin_anew'

export interface NodeDatabaseOptions {
  /** A folder, which is created if it does not exist, or 'memory://' for a database that exists until `close`. */
  dataDir: string
  /** Default: `refuse`. */
  onDamage?: DamagePolicy
  /**
   * Refuses a folder that holds no database, instead of starting an empty one there. For a process that had it open
   * before. Default: false.
   */
  mustExist?: boolean
  onStopped?: Stopped
}

/** Additional options of a device, which recovers from damage without an operator. */
export interface DeviceFolderOptions extends NodeDatabaseOptions {
  stopOnDamage?: DamageOptions['onDamage']
  /** Verifies an open database while the folder's lock is held. Returns a reason not to use it, or null. */
  proof?(db: PGlite): Promise<string | null>
  /** Called after the old database was moved to `setAside`, before the new one is created. */
  onSetAside?(setAside: string, fault: string, detail: string): Promise<void>
}

const nodeDatabaseOptions = z.strictObject({
  dataDir: dataDirSchema,
  onDamage: z.enum(['refuse', 'begin_anew']).optional(),
  onStopped: functionSchema.optional(),
  mustExist: z.boolean().optional(),
  stopOnDamage: z.string().optional(),
  proof: functionSchema.optional(),
  onSetAside: functionSchema.optional(),
} satisfies Record<keyof DeviceFolderOptions, z.ZodType>)

/**
 * Opens the database in a folder, or creates it from the prepared data directory. Only one process may have it open.
 *
 * @throws HoldfastError `database_locked` naming folder and process; `database_damaged`, `unavailable`, `storage_full`
 * or `misconfigured` naming folder and cause, or every wrong option. After any of them the folder is as it was.
 * @example
 * const {db, close} = await openNodeDatabase({dataDir: 'data/desk'})
 */
export async function openNodeDatabase(options: DeviceFolderOptions): Promise<OpenedDatabase> {
  checkOptions(nodeDatabaseOptions, options, 'openNodeDatabase')
  const {dataDir, onStopped, stopOnDamage} = options
  if (dataDir.startsWith('memory://')) {
    const db = await startPGlite({loadDataDir: await readDataDir()}, onStopped)
    return {db, storage: 'memory', fresh: true, close: () => db.close()}
  }
  const folder = resolve(dataDir)
  try {
    // Before the lock, which makes the folder.
    if (options.mustExist) await requireDatabase(folder)
    const release = await lockFolder(folder)
    const place = {
      folder,
      database: join(folder, databaseFolder),
      expected: preparedVersion,
      onStopped,
      fence: release.requireHeld,
      onDamage: stopOnDamage,
    }
    const opened = await openOrBeginAnew(place, options).catch(error => release().then(() => Promise.reject(error)))
    return {...opened, storage: 'folder', close: () => opened.db.close().finally(release)}
  } catch (error) {
    throw HoldfastError.from(unreadable(folder, 'the folder', error) ?? error)
  }
}

async function requireDatabase(folder: string): Promise<void> {
  const {state} = await readMarker(folder)
  if (state === 'none' || state === 'unfinished') {
    throw cannotOpen(folder, 'gone', 'it held a database before, and its files are no longer there')
  }
}

type Opened = Omit<OpenedDatabase, 'close' | 'storage'>

async function openOrBeginAnew(place: DatabasePlace, options: DeviceFolderOptions): Promise<Opened> {
  const {onDamage = 'refuse', onSetAside} = options
  try {
    return await openProven(place, options)
  } catch (error) {
    if (onDamage === 'refuse' || !mayBeginAnew(error)) throw error
    const setAside = await moveAside(place.folder)
    await onSetAside?.(setAside, String(error.details.fault), error.message)
    return {...(await begin(place)), recovered: 'quarantined', setAside}
  }
}

async function openProven(place: DatabasePlace, {onDamage, proof}: DeviceFolderOptions): Promise<Opened> {
  const opened = await openFolder(place, onDamage)
  const reason = proof ? await orClose(opened.db, () => proof(opened.db)) : null
  if (reason === null) return opened
  await opened.db.close()
  throw cannotOpen(place.folder, 'damaged', reason)
}

async function openFolder(place: DatabasePlace, onDamage: DamagePolicy = 'refuse'): Promise<Opened> {
  const {folder, database} = place
  const marker = await readMarker(folder)
  switch (marker.state) {
    case 'ready':
      return openMarked(place, marker.generation)
    case 'none':
      return openUnmarked(place)
    case 'unfinished':
      await rm(database, {recursive: true, force: true})
      return begin(place)
    case 'other_layout':
      throw cannotOpen(folder, 'layout', `another build wrote it, in the layout "${marker.layout}"`)
    case 'garbled':
      // The generation is stored in the database too, so the marker can be rebuilt.
      if (onDamage === 'begin_anew') return openUnmarked(place)
      throw cannotOpen(folder, 'marker', `its marker, the file "${markerFile}" (${marker.bytes} bytes), is garbled`)
  }
}

async function openMarked(place: DatabasePlace, expected: string): Promise<Opened> {
  const {db, generation} = await startInFolder(place)
  if (generation === expected) return {db, fresh: false}
  await db.close()
  const found = generation === undefined ? 'one that has no name' : `the one named ${generation}`
  throw cannotOpen(
    place.folder,
    'other_database',
    `its marker names the database ${expected}, and the files are ${found}`,
  )
}

/** Opens files without a marker, and rewrites the marker if the database has a generation. */
async function openUnmarked(place: DatabasePlace): Promise<Opened> {
  const {folder, database} = place
  await refuseOtherLayouts(folder)
  if ((await namesIn(database)).length === 0) return begin(place)
  const {db, generation} = await startInFolder(place)
  if (generation === undefined) {
    await db.close()
    throw cannotOpen(folder, 'other_database', 'the folder "postgres" holds a database that Holdfast did not make')
  }
  await orClose(db, () => markReady(folder, generation))
  return {db, fresh: false}
}

/** Refuses a plain data directory of Postgres or PGlite, and the one-file layout of browsers. */
async function refuseOtherLayouts(folder: string): Promise<void> {
  const names = await namesIn(folder)
  const strange = names.find(name => name === 'PG_VERSION' || name === 'generation.json')
  if (!strange) return
  throw cannotOpen(folder, 'layout', `it holds a database in another layout (it has a file "${strange}")`)
}

async function begin({folder, database, onStopped, fence, onDamage}: DatabasePlace): Promise<Opened> {
  await markUnfinished(folder)
  await mkdir(database, {recursive: true})
  const db = await startPGlite({dataDir: database, loadDataDir: await readDataDir()}, onStopped, {fence, onDamage})
  const generation = crypto.randomUUID()
  await orClose(db, async () => {
    await writeGeneration(db, generation)
    await markReady(folder, generation)
  })
  return {db, fresh: true}
}
