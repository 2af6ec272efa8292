import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import type {Handle} from '../one-file/handle.ts'
import {OneFileFilesystem} from '../one-file/one-file-filesystem.ts'
import {TreeDamaged} from '../one-file/tree-log.ts'
import {requireGeneration, writeGeneration} from './generation.ts'
import {damaged, type OpenedDatabase, orClose, type Stopped} from './opened-database.ts'
import {isDomError, openAccess, openFolder} from './opfs-files.ts'
import {type Found, type Marker, readMarker, writeMarker} from './opfs-marker.ts'
import {retryWhileBusy} from './retry-while-busy.ts'
import {startPGlite} from './start-pglite.ts'

const kind = {storage: 'opfs', recovery: null} as const

/**
 * Opens the database `name` in the origin private file system. The caller holds the name's lock: two openers lose
 * data. `prepared` is read only if there is nothing to open yet.
 */
export async function openOpfs(
  name: string,
  prepared: () => Promise<Blob>,
  onStopped?: Stopped,
): Promise<OpenedDatabase> {
  const folder = await openFolder(['holdfast', name])
  const found = await readMarker(folder)
  switch (found.state) {
    case 'nothing':
      return begin({folder, prepared, onStopped, damaged: []})
    case 'unfinished':
      await retryWhileBusy(() => discard(folder, found.marker.generation))
      return begin({folder, prepared, onStopped, damaged: found.marker.damaged})
    case 'unknown':
      return {...(await begin({folder, prepared, onStopped, damaged: found.folders})), ...setAside(found)}
    case 'ready':
      return reopen({folder, prepared, onStopped, marker: found.marker})
  }
}

interface Place {
  folder: FileSystemDirectoryHandle
  prepared(): Promise<Blob>
  onStopped: Stopped | undefined
}

async function begin({folder, prepared, onStopped, damaged}: Place & {damaged: string[]}): Promise<OpenedDatabase> {
  const loadDataDir = await prepared()
  const generation = crypto.randomUUID()
  await writeMarker(folder, {generation, ready: false, damaged})
  const db = await boot(await folder.getDirectoryHandle(generation, {create: true}), onStopped, {loadDataDir})
  await orClose(db, () => writeGeneration(db, generation))
  await writeMarker(folder, {generation, ready: true, damaged})
  return {...kind, db, fresh: true, close: () => db.close()}
}

async function reopen({marker, ...place}: Place & {marker: Marker}): Promise<OpenedDatabase> {
  try {
    // One failure may be the moment's, such as memory; only what fails twice is given up.
    const open = () => retryWhileBusy(() => openExisting(place, marker.generation))
    const db = await open().catch(open)
    return {...kind, db, fresh: false, close: () => db.close()}
  } catch (error) {
    if (!HoldfastError.is(error, 'database_damaged')) throw error
    const opened = await begin({...place, damaged: [...marker.damaged, marker.generation]})
    return {...opened, recovered: 'quarantined', setAside: marker.generation}
  }
}

async function openExisting({folder, onStopped}: Place, generation: string): Promise<PGlite> {
  const db = await boot(await folder.getDirectoryHandle(generation, {create: true}), onStopped)
  await orClose(db, () => requireGeneration(db, generation))
  return db
}

/** One that is opened again has a file tree; an empty one would be filled as if nothing had ever been here. */
async function boot(
  folder: FileSystemDirectoryHandle,
  onStopped: Stopped | undefined,
  options: {loadDataDir?: Blob} = {},
): Promise<PGlite> {
  const fs = await openFilesystem(folder)
  try {
    if (fs.isEmpty && !options.loadDataDir) throw damaged('its file tree is empty')
    return await startPGlite({...options, fs}, onStopped)
  } catch (error) {
    fs.abandon()
    throw fs.full ? full(error) : understood(error, fs.booting)
  }
}

async function openFilesystem(folder: FileSystemDirectoryHandle): Promise<OneFileFilesystem> {
  const taken: FileSystemSyncAccessHandle[] = []
  try {
    for (const name of ['data', 'tree.0', 'tree.1']) taken.push(await openAccess(folder, name))
    const [data, first, second] = taken as [Handle, Handle, Handle]
    return new OneFileFilesystem({data, trees: [first, second]})
  } catch (error) {
    for (const handle of taken) handle.close()
    throw error instanceof TreeDamaged ? damaged(error.message, error) : understood(error, false)
  }
}

function understood(error: unknown, booting: boolean): HoldfastError {
  if (error instanceof HoldfastError) return error
  if (isDomError(error, 'NoModificationAllowedError', 'InvalidStateError')) return busy(error)
  if (isDomError(error, 'QuotaExceededError')) return full(error)
  return booting ? damaged('Postgres did not start on it', error) : HoldfastError.from(error)
}

function full(cause: unknown): HoldfastError {
  return new HoldfastError('storage_full', 'The device has no room left to open the database.', {cause})
}

function busy(cause: unknown): HoldfastError {
  return new HoldfastError('database_locked', 'Another worker holds this database: its files are in use.', {cause})
}

async function discard(folder: FileSystemDirectoryHandle, generation: string): Promise<void> {
  try {
    await folder.removeEntry(generation, {recursive: true})
  } catch (error) {
    if (isDomError(error, 'NoModificationAllowedError')) throw busy(error)
    if (!isDomError(error, 'NotFoundError')) throw error
  }
}

function setAside({folders}: Extract<Found, {state: 'unknown'}>): Pick<OpenedDatabase, 'recovered' | 'setAside'> {
  return {recovered: 'quarantined', setAside: folders.join(', ')}
}
