import dataDirUrl from 'virtual:holdfast-data-dir'
import type {LastOwner} from '../../platform/last-owner.ts'
import {HoldfastError} from '../../protocol/errors.ts'
import {asTarball} from '../prepared/as-tarball.ts'
import type {DeviceDatabase, Previous} from './device-database.ts'
import {indexedDbNames} from './indexed-db-names.ts'
import {openIndexedDb} from './open-indexed-db.ts'
import {openOpfs, type Term} from './open-opfs.ts'
import type {Stopped} from './opened-database.ts'
import {isDomError} from './opfs-files.ts'
import {startPGlite} from './start-pglite.ts'

export interface BrowserDatabaseOptions {
  /** Names the database within this origin. */
  name: string
  /** URL of the prepared data directory. Default: beside this bundle. */
  assets?: {dataDir?: string | URL}
  onStopped?: Stopped
  /** The new term, and whether the previous owner may still hold the files. Default: a new term with a random id. */
  term?: Term
  /** The previous owner of this database, if a live page or worker knows it. */
  lastOwner?: LastOwner | null
}

/**
 * Opens this origin's database `name` in a worker, or creates it from the prepared data directory. Stores it in the origin
 * private file system, else in IndexedDB, else in memory, which is not durable. Calls `onStopped` if the database stops
 * because of a fault. The caller must hold the lock of the name.
 *
 * @throws HoldfastError `database_locked` if the files stay in use for 1.5 s, `storage_full`, or `offline` if the data
 * directory cannot be fetched
 * @example
 * const {db, fresh, storage} = await openBrowserDatabase({name: 'desk'})
 * await db.query('SELECT 1')
 */
export async function openBrowserDatabase(options: BrowserDatabaseOptions): Promise<DeviceDatabase> {
  const opened = await openSomewhere(options)
  // The previous owner had it open, and neither files nor a record of them exist: the browser deleted them.
  const cleared = opened.fresh && !opened.previous && opened.storage === options.lastOwner?.storage
  return cleared && opened.outbox ? {...opened, previous: clearedDatabase} : opened
}

const clearedDatabase: Previous = {
  cause: 'cleared',
  detail: 'The database was open before, and neither its files nor a record of them exist.',
  setAside: null,
  open: () => Promise.reject(new HoldfastError('not_found', 'The files were deleted.')),
  done: async () => undefined,
}

async function openSomewhere({
  name,
  assets = {},
  onStopped,
  term,
  lastOwner,
}: BrowserDatabaseOptions): Promise<DeviceDatabase> {
  const prepared = () => fetchDataDir(assets.dataDir ?? dataDirUrl)
  const root = () => navigator.storage.getDirectory()
  if (await usable(hasSyncAccess, root)) return openOpfs(root, name, prepared, onStopped, term)
  if (term?.tookOver) {
    // IndexedDB has no fence: a suspended owner would overwrite this one's data when it resumes.
    throw new HoldfastError('database_locked', 'Another tab that does not answer holds this database.')
  }
  const databases = await usable(hasIndexedDb, indexedDbNames)
  if (databases) return openIndexedDb(name, prepared, onStopped, rescuedRecords(lastOwner))
  const db = await startPGlite({loadDataDir: await prepared()}, onStopped)
  return {db, storage: 'memory', fresh: true, outbox: null, previous: null, close: () => db.close()}
}

function rescuedRecords(lastOwner: LastOwner | null | undefined): Uint8Array[] {
  const rescued = lastOwner?.rescued
  return Array.isArray(rescued) ? rescued.filter(record => record instanceof Uint8Array) : []
}

/**
 * Returns null if the browser lacks the storage or denies it to this site. Throws on any other failure, which may be
 * temporary: a fallback to another storage would show an empty database.
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
  const {status} = response
  // A missing file is of another build. With any other status, a later request can succeed.
  const opening = status === 404 || status === 410 ? 'new_version' : 'unreachable'
  throw new HoldfastError('offline', `Expected the data directory at ${url}, got status ${status}.`, {
    details: {opening, status},
  })
}
