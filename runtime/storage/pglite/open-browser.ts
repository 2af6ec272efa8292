import dataDirUrl from 'virtual:holdfast-data-dir'
import {HoldfastError} from '../../protocol/errors.ts'
import {asTarball} from '../prepared/as-tarball.ts'
import type {DeviceDatabase} from './device-database.ts'
import {openIndexedDb} from './open-indexed-db.ts'
import {openOpfs, type Term} from './open-opfs.ts'
import type {Stopped} from './opened-database.ts'
import {isDomError} from './opfs-files.ts'
import {startPGlite} from './start-pglite.ts'

export interface BrowserDatabaseOptions {
  /** Names the database within this origin. */
  name: string
  /** Where the prepared data directory is, if not beside this bundle. */
  assets?: {dataDir?: string | URL}
  onStopped?: Stopped
  /** Whose term begins, and whether the owner before may still hold the files. Default: a term of its own. */
  term?: Term
}

/**
 * Opens this origin's database called `name` in a worker, or begins it from the prepared data directory. It is kept in the
 * origin private file system; in IndexedDB where that cannot be used; else in memory, where nothing is durable. One that
 * stops by itself calls `onStopped`. The caller must hold the name's lock. Throws 'database_locked' when the files stay
 * in use for 1.5 s, 'storage_full', or 'offline' when the data directory cannot be fetched.
 *
 * @example
 * const {db, fresh, storage} = await openBrowserDatabase({name: 'desk'})
 * await db.query('SELECT 1')
 */
export async function openBrowserDatabase({
  name,
  assets = {},
  onStopped,
  term,
}: BrowserDatabaseOptions): Promise<DeviceDatabase> {
  const prepared = () => fetchDataDir(assets.dataDir ?? dataDirUrl)
  const root = () => navigator.storage.getDirectory()
  if (await usable(hasSyncAccess, root)) return openOpfs(root, name, prepared, onStopped, term)
  if (term?.tookOver) {
    // IndexedDB keeps nobody out: an owner that is frozen would write over this one when it thaws.
    throw new HoldfastError('database_locked', 'Another tab that does not answer holds this database.')
  }
  const databases = await usable(hasIndexedDb, () => indexedDB.databases())
  if (databases) return openIndexedDb(name, prepared, onStopped)
  const db = await startPGlite({loadDataDir: await prepared()}, onStopped)
  return {db, storage: 'memory', fresh: true, outbox: null, previous: null, close: () => db.close()}
}

/**
 * Null when this browser does not have it or does not let this site use it. Any other failure may pass: a database that
 * is somewhere else for a moment would look as if everything were lost.
 */
async function usable<T>(exists: () => boolean, open: () => Promise<T>): Promise<T | null> {
  try {
    return exists() ? await open() : null
  } catch (error) {
    const refused = isDomError(error, 'SecurityError', 'NotSupportedError', 'NotAllowedError')
    if (refused || error instanceof TypeError) return null
    throw HoldfastError.from(error)
  }
}

function hasSyncAccess(): boolean {
  return typeof FileSystemFileHandle === 'function' && 'createSyncAccessHandle' in FileSystemFileHandle.prototype
}

function hasIndexedDb(): boolean {
  return typeof indexedDB === 'object' && indexedDB !== null
}

async function fetchDataDir(url: string | URL): Promise<Blob> {
  const response = await fetch(url).catch(error => {
    throw new HoldfastError('offline', 'The data directory for a first open cannot be fetched.', {cause: error})
  })
  if (response.ok) return asTarball(new Uint8Array(await response.arrayBuffer()))
  throw new HoldfastError('misconfigured', `Expected the data directory at ${url}, got status ${response.status}.`)
}
