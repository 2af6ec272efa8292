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
  /** Where the prepared data directory is, if not beside this bundle. */
  assets?: {dataDir?: string | URL}
  onStopped?: Stopped
  /** Whose term begins, and whether the owner before may still hold the files. Default: a term of its own. */
  term?: Term
  /** The worker that had this database open before, if a living page or worker knows of one. */
  lastOwner?: LastOwner | null
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
export async function openBrowserDatabase(options: BrowserDatabaseOptions): Promise<DeviceDatabase> {
  const opened = await openSomewhere(options)
  // It was open a moment ago, and no trace of it is left.
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
    // IndexedDB keeps nobody out: an owner that is frozen would write over this one when it thaws.
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
  const {status} = response
  // A missing file is of another build. With any other status, a later request can succeed.
  const opening = status === 404 || status === 410 ? 'new_version' : 'unreachable'
  throw new HoldfastError('offline', `Expected the data directory at ${url}, got status ${status}.`, {
    details: {opening, status},
  })
}
