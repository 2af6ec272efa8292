import {access, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {fileURLToPath} from 'node:url'
import dataDirUrl from 'virtual:holdfast-data-dir'
import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import {asTarball} from '../prepared/as-tarball.ts'
import {lockFolder} from './folder-lock.ts'
import {readGeneration, requireGeneration, writeGeneration} from './generation.ts'
import {damaged, type OpenedDatabase, orClose, type Stopped} from './opened-database.ts'
import {startPGlite} from './start-pglite.ts'

export interface NodeDatabaseOptions {
  /** A folder, made if it is not there, or 'memory://' for a database that ends with `close`. */
  dataDir: string
  onStopped?: Stopped
}

const databaseFolder = 'postgres'
const markerFile = 'generation'

/**
 * Opens the database in a folder, or begins it from the prepared data directory; only one process may have it open.
 * Throws 'database_locked' naming folder and pid. A damaged database is set aside, never overwritten.
 *
 * @example
 * const {db, close} = await openNodeDatabase({dataDir: 'data/desk'})
 */
export async function openNodeDatabase({dataDir, onStopped}: NodeDatabaseOptions): Promise<OpenedDatabase> {
  if (dataDir.startsWith('memory://')) {
    const db = await startPGlite({loadDataDir: await readDataDir()}, onStopped)
    return {db, storage: 'memory', recovery: null, fresh: true, close: () => db.close()}
  }
  const folder = resolve(dataDir)
  const release = await lockFolder(folder)
  try {
    const opened = await openFolder(folder, onStopped)
    return {...opened, storage: 'folder', recovery: null, close: () => opened.db.close().finally(release)}
  } catch (error) {
    await release()
    throw HoldfastError.from(error)
  }
}

type Opened = Omit<OpenedDatabase, 'close' | 'storage' | 'recovery'>

async function openFolder(folder: string, onStopped?: Stopped): Promise<Opened> {
  const generation = await readFile(join(folder, markerFile), 'utf8').catch(() => undefined)
  if (generation === undefined) return beginAfterUnmarked(folder, onStopped)
  try {
    return {db: await openExisting(join(folder, databaseFolder), generation, onStopped), fresh: false}
  } catch (error) {
    if (!HoldfastError.is(error, 'database_damaged')) throw error
    return beginAgain(folder, onStopped)
  }
}

/** The marker is written last, so a folder without one was never acknowledged anything: unless it was deleted. */
async function beginAfterUnmarked(folder: string, onStopped?: Stopped): Promise<Opened> {
  const database = join(folder, databaseFolder)
  const named = (await exists(join(database, 'PG_VERSION'))) && (await generationOf(database))
  if (named) return beginAgain(folder, onStopped)
  await rm(database, {recursive: true, force: true})
  return begin(folder, onStopped)
}

async function beginAgain(folder: string, onStopped?: Stopped): Promise<Opened> {
  const setAside = await moveAside(folder)
  return {...(await begin(folder, onStopped)), recovered: 'quarantined', setAside}
}

async function openExisting(database: string, generation: string, onStopped?: Stopped): Promise<PGlite> {
  if (!(await exists(join(database, 'PG_VERSION')))) throw damaged('its files are gone')
  const db = await startPGlite({dataDir: database}, onStopped).catch(error => {
    throw damaged('Postgres did not start on it', error)
  })
  await orClose(db, () => requireGeneration(db, generation))
  return db
}

async function generationOf(database: string): Promise<string | undefined> {
  const db = await startPGlite({dataDir: database}).catch(() => undefined)
  const generation = await (db && readGeneration(db).catch(() => undefined))
  await db?.close()
  return generation
}

async function begin(folder: string, onStopped?: Stopped): Promise<Opened> {
  const database = join(folder, databaseFolder)
  await mkdir(database, {recursive: true})
  const db = await startPGlite({dataDir: database, loadDataDir: await readDataDir()}, onStopped)
  const generation = crypto.randomUUID()
  await orClose(db, () => writeGeneration(db, generation))
  await writeFile(join(folder, markerFile), generation)
  return {db, fresh: true}
}

async function moveAside(folder: string): Promise<string> {
  for (let number = 1; ; number++) {
    const aside = join(folder, `${databaseFolder}.damaged-${number}`)
    if (await exists(aside)) continue
    await mkdir(join(folder, databaseFolder), {recursive: true})
    await rename(join(folder, databaseFolder), aside)
    return aside
  }
}

async function readDataDir(): Promise<Blob> {
  return asTarball(new Uint8Array(await readFile(fileURLToPath(dataDirUrl))))
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
