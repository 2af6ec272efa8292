import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import {requireGeneration, writeGeneration} from './generation.ts'
import {damaged, type OpenedDatabase, orClose, type Stopped} from './opened-database.ts'
import {isDomError, openFolder} from './opfs-files.ts'
import {busy, OpfsFilesystem} from './opfs-filesystem.ts'
import {type Found, type Marker, readMarker, writeMarker} from './opfs-marker.ts'
import {mendState} from './opfs-state.ts'
import {retryWhileBusy} from './retry-while-busy.ts'
import {startPGlite} from './start-pglite.ts'

/**
 * Opens the database `name` in the origin private file system. The caller holds the name's lock: two openers lose
 * data. `prepared` is read only if there is nothing to open yet.
 */
export async function openOpfs(
  name: string,
  prepared: () => Promise<Blob>,
  onStopped?: Stopped,
): Promise<OpenedDatabase> {
  const path = ['holdfast', name]
  const folder = await openFolder(path)
  const found = await readMarker(folder)
  switch (found.state) {
    case 'nothing':
      return begin({folder, path, prepared, onStopped, damaged: []})
    case 'unfinished':
      await retryWhileBusy(() => discard(folder, found.marker.generation))
      return begin({folder, path, prepared, onStopped, damaged: found.marker.damaged})
    case 'unknown':
      return {...(await begin({folder, path, prepared, onStopped, damaged: found.folders})), ...setAside(found)}
    case 'ready':
      return reopen({folder, path, prepared, onStopped, marker: found.marker})
  }
}

interface Place {
  folder: FileSystemDirectoryHandle
  path: string[]
  prepared(): Promise<Blob>
  onStopped: Stopped | undefined
}

async function begin({
  folder,
  path,
  prepared,
  onStopped,
  damaged,
}: Place & {damaged: string[]}): Promise<OpenedDatabase> {
  const loadDataDir = await prepared()
  const generation = crypto.randomUUID()
  await writeMarker(folder, {generation, ready: false, damaged})
  const db = await boot([...path, generation], onStopped, {loadDataDir})
  await orClose(db, () => writeGeneration(db, generation))
  await writeMarker(folder, {generation, ready: true, damaged})
  return {db, fresh: true, close: () => db.close()}
}

async function reopen({marker, ...place}: Place & {marker: Marker}): Promise<OpenedDatabase> {
  try {
    // One failure may be the moment's, such as memory; only what fails twice is given up.
    const open = () => retryWhileBusy(() => openExisting(place, marker.generation))
    const db = await open().catch(open)
    return {db, fresh: false, close: () => db.close()}
  } catch (error) {
    if (!HoldfastError.is(error, 'database_damaged')) throw error
    const opened = await begin({...place, damaged: [...marker.damaged, marker.generation]})
    return {...opened, recovered: 'quarantined', setAside: marker.generation}
  }
}

async function openExisting({folder, path, onStopped}: Place, generation: string): Promise<PGlite> {
  await mendState(await folder.getDirectoryHandle(generation, {create: true}))
  const db = await boot([...path, generation], onStopped)
  await orClose(db, () => requireGeneration(db, generation))
  return db
}

async function boot(
  path: string[],
  onStopped: Stopped | undefined,
  options: {loadDataDir?: Blob} = {},
): Promise<PGlite> {
  const fs = new OpfsFilesystem(path)
  try {
    return await startPGlite({...options, fs}, onStopped)
  } catch (error) {
    await fs.abandon()
    throw understood(error, fs.booting)
  }
}

function understood(error: unknown, booting: boolean): HoldfastError {
  if (error instanceof HoldfastError) return error
  if (isDomError(error, 'NoModificationAllowedError', 'InvalidStateError')) return busy('its files are in use', error)
  if (isDomError(error, 'QuotaExceededError')) {
    return new HoldfastError('storage_full', 'The device has no room left to open the database.', {cause: error})
  }
  return booting ? damaged('Postgres did not start on it', error) : HoldfastError.from(error)
}

async function discard(folder: FileSystemDirectoryHandle, generation: string): Promise<void> {
  try {
    await folder.removeEntry(generation, {recursive: true})
  } catch (error) {
    if (isDomError(error, 'NoModificationAllowedError')) throw busy('its files are in use', error)
    if (!isDomError(error, 'NotFoundError')) throw error
  }
}

function setAside({folders}: Extract<Found, {state: 'unknown'}>): Pick<OpenedDatabase, 'recovered' | 'setAside'> {
  return {recovered: 'quarantined', setAside: folders.join(', ')}
}
