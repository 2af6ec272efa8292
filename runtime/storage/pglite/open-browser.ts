import dataDirUrl from 'virtual:holdfast-data-dir'
import {HoldfastError} from '../../protocol/errors.ts'
import {asTarball} from '../prepared/as-tarball.ts'
import type {DeviceDatabase} from './device-database.ts'
import {openIndexedDb} from './open-indexed-db.ts'
import {openOpfs} from './open-opfs.ts'
import type {Stopped} from './opened-database.ts'

export interface BrowserDatabaseOptions {
  /** Names the database within this origin. */
  name: string
  /** Where the prepared data directory is, if not beside this bundle. */
  assets?: {dataDir?: string | URL}
  onStopped?: Stopped
}

/**
 * Opens this origin's database called `name` in a worker, or begins it from the prepared data directory; what a query
 * acknowledged is durable, and one that stops by itself says so to `onStopped`. The caller must hold the name's lock. Throws 'database_locked' when the files stay in
 * use for 10 s, 'storage_full', or 'offline' when the data directory cannot be fetched.
 *
 * @example
 * const {db, fresh, recovered} = await openBrowserDatabase({name: 'desk'})
 * await db.query('SELECT 1')
 */
export async function openBrowserDatabase({
  name,
  assets = {},
  onStopped,
}: BrowserDatabaseOptions): Promise<DeviceDatabase> {
  const prepared = () => fetchDataDir(assets.dataDir ?? dataDirUrl)
  return hasSyncAccess()
    ? openOpfs(await navigator.storage.getDirectory(), name, prepared, onStopped)
    : openIndexedDb(name, prepared, onStopped)
}

function hasSyncAccess(): boolean {
  return typeof FileSystemFileHandle === 'function' && 'createSyncAccessHandle' in FileSystemFileHandle.prototype
}

async function fetchDataDir(url: string | URL): Promise<Blob> {
  const response = await fetch(url).catch(error => {
    throw new HoldfastError('offline', 'The data directory for a first open cannot be fetched.', {cause: error})
  })
  if (response.ok) return asTarball(new Uint8Array(await response.arrayBuffer()))
  throw new HoldfastError('misconfigured', `Expected the data directory at ${url}, got status ${response.status}.`)
}
