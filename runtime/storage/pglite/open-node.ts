import {access, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {fileURLToPath} from 'node:url'
import dataDirUrl from 'virtual:holdfast-data-dir'
import {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import {asTarball} from '../prepared/as-tarball.ts'
import {lockFolder} from './folder-lock.ts'
import {readGeneration, writeGeneration} from './generation.ts'
import type {OpenedDatabase} from './opened-database.ts'
import {pgliteOptions} from './pglite-options.ts'

export interface NodeDatabaseOptions {
  /** A folder, made if it is not there, or 'memory://' for a database that ends with `close`. */
  dataDir: string
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
export async function openNodeDatabase({dataDir}: NodeDatabaseOptions): Promise<OpenedDatabase> {
  if (dataDir.startsWith('memory://')) {
    const db = await PGlite.create({...pgliteOptions(), loadDataDir: await readDataDir()})
    return {db, fresh: true, close: () => db.close()}
  }
  const folder = resolve(dataDir)
  const release = await lockFolder(folder)
  try {
    const opened = await openFolder(folder)
    return {...opened, close: () => opened.db.close().finally(release)}
  } catch (error) {
    await release()
    throw HoldfastError.from(error)
  }
}

type Opened = Omit<OpenedDatabase, 'close'>

async function openFolder(folder: string): Promise<Opened> {
  const generation = await readFile(join(folder, markerFile), 'utf8').catch(() => undefined)
  if (generation === undefined) return beginAfterUnmarked(folder)
  const db = await openExisting(folder, generation)
  if (db) return {db, fresh: false}
  return beginAgain(folder)
}

/** The marker is written last, so a folder without one was never acknowledged anything: unless it was deleted. */
async function beginAfterUnmarked(folder: string): Promise<Opened> {
  const database = join(folder, databaseFolder)
  const named = (await exists(join(database, 'PG_VERSION'))) && (await generationOf(database))
  if (named) return beginAgain(folder)
  await rm(database, {recursive: true, force: true})
  return begin(folder)
}

async function beginAgain(folder: string): Promise<Opened> {
  const setAside = await moveAside(folder)
  return {...(await begin(folder)), recovered: 'quarantined', setAside}
}

async function openExisting(folder: string, generation: string): Promise<PGlite | undefined> {
  const database = join(folder, databaseFolder)
  if (!(await exists(join(database, 'PG_VERSION')))) return undefined
  try {
    const db = await PGlite.create({...pgliteOptions(), dataDir: database})
    if ((await readGeneration(db)) === generation) return db
    await db.close()
  } catch {
    return undefined
  }
  return undefined
}

async function generationOf(database: string): Promise<string | undefined> {
  const db = await PGlite.create({...pgliteOptions(), dataDir: database}).catch(() => undefined)
  const generation = db && (await readGeneration(db))
  await db?.close()
  return generation
}

async function begin(folder: string): Promise<Opened> {
  const database = join(folder, databaseFolder)
  await mkdir(database, {recursive: true})
  const db = await PGlite.create({...pgliteOptions(), dataDir: database, loadDataDir: await readDataDir()})
  const generation = crypto.randomUUID()
  await writeGeneration(db, generation)
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
