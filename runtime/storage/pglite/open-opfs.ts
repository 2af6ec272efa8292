import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import type {RecoveryCause} from '../../protocol/recovery.ts'
import type {Handle} from '../one-file/handle.ts'
import {OneFileFilesystem} from '../one-file/one-file-filesystem.ts'
import {overlayHandle} from '../one-file/overlay-handle.ts'
import {outboxFiles} from '../outbox/outbox-files.ts'
import type {DeviceDatabase, Previous} from './device-database.ts'
import {stopDatabase} from './fail-stop.ts'
import {requireGeneration, writeGeneration} from './generation.ts'
import {orClose, type Stopped} from './opened-database.ts'
import {bootOneFile, oneFileNames, openHandles} from './opfs-boot.ts'
import {originalOf} from './opfs-copies.ts'
import {beginTerm, fenced, type OpfsFence} from './opfs-fence.ts'
import {openFolder} from './opfs-files.ts'
import {type Generation, generationsIn, keptSetAside, removeExpired, withSetAside} from './opfs-generations.ts'
import {type Marker, readMarker, writeMarker} from './opfs-marker.ts'
import {type OpfsRoot, Presence, presentOutbox} from './opfs-presence.ts'
import {clearedIn} from './opfs-rescue.ts'
import {copiedIfHeld, openOutboxHandles} from './opfs-take-over.ts'
import {retryWhileBusy} from './retry-while-busy.ts'
import {startForSalvage} from './start-pglite.ts'
import {verifyEveryRow} from './verify.ts'

interface Place {
  folder: FileSystemDirectoryHandle
  prepared(): Promise<Blob>
  onStopped: Stopped | undefined
  fence: OpfsFence
  tookOver: boolean
}

/** A period of ownership. `tookOver`: the previous owner did not respond and may still hold the files. */
export type Term = {epoch: string; tookOver: boolean}

type Started = {db: PGlite; handles: readonly Handle[]}
type Opened = Started & {fresh: boolean; marker: Marker}
/** The previous database, and why it is not used any more. */
type Given = {generation: string; cause: RecoveryCause; detail: string}

/**
 * Opens the database `name` in the origin private file system. The caller must hold the lock of the name: two owners lose
 * data. `prepared` is read only to create a database. A database that does not open is set aside with all its files and
 * replaced by a new one. `previous` gives access to its readable data. [LOG-9]
 */
export async function openOpfs(
  root: OpfsRoot,
  name: string,
  prepared: () => Promise<Blob>,
  onStopped?: Stopped,
  {epoch, tookOver}: Term = {epoch: crypto.randomUUID(), tookOver: false},
): Promise<DeviceDatabase> {
  const path = ['holdfast', name]
  const folder = await openFolder(await root(), path)
  const fence = await retryWhileBusy(() => beginTerm(folder, epoch))
  try {
    const opened = await openInTerm(root, path, {folder, prepared, onStopped, fence, tookOver})
    return {...opened, close: () => opened.close().finally(fence.close)}
  } catch (error) {
    fence.close()
    throw error
  }
}

async function openInTerm(root: OpfsRoot, path: string[], place: Place): Promise<DeviceDatabase> {
  const found = await retryWhileBusy(() => openOutboxHandles(place.folder, place))
  const outboxHandles = found.handles.map(handle => fenced(handle, place.fence))
  try {
    const {db, fresh, handles, ...opened} = await openDatabase(place)
    const marker = await orClose(db, () => removeExpired(place.folder, opened.marker, Date.now()))
    const held = {path, marker, data: handles, outbox: {copy: found.copy, handles: outboxHandles}}
    const presence = new Presence(root, held, place.fence.check, error => stopDatabase(db, error))
    const [first, second] = outboxHandles as [Handle, Handle]
    const outbox = presentOutbox(outboxFiles([first, second]), presence)
    const close = async () => {
      presence.stop()
      await db.close()
      await outbox.close()
    }
    return {db, storage: 'opfs', fresh, outbox, previous: await previousOf(place.folder, marker), close}
  } catch (error) {
    for (const handle of outboxHandles) handle.close()
    throw error
  }
}

/** Opens the files of a generation, fenced by the current term. */
async function openFenced(folder: FileSystemDirectoryHandle, fence: OpfsFence): Promise<Handle[]> {
  return (await openHandles(folder, oneFileNames)).map(handle => fenced(handle, fence))
}

async function openDatabase(place: Place): Promise<Opened> {
  const marker = await readMarker(place.folder)
  if (marker?.ready) return reopen(place, marker)
  const found = await generationsIn(place.folder)
  // Data of an unfinished first open was never acknowledged.
  const begun = found.filter(({name}) => name !== marker?.generation)
  if (marker) return begin(place, {damaged: marker.damaged, given: null})
  return begun.length === 0 ? begin(place, {damaged: [], given: null}) : rebuild(place, begun)
}

/** Rebuilds a lost or unreadable marker from the folders: opens the newest database that can be opened. */
async function rebuild(place: Place, found: readonly Generation[]): Promise<Opened> {
  const [newest] = found as [Generation, ...Generation[]]
  const others = (used: string) =>
    found.filter(({name}) => name !== used).map(({name, changedAt}) => ({generation: name, at: changedAt}))
  let fault = 'no folder holds a database of this layout'
  for (const {name, layout} of found) {
    if (layout === 'other') continue
    try {
      const {generation} = await usable(place, {generation: name, ready: true, damaged: []})
      const started = await openExisting(place, generation, 'stop')
      const marker: Marker = {generation, ready: true, damaged: keptSetAside(others(name), Date.now())}
      await orClose(started.db, () => writeMarker(place.folder, marker))
      return {...started, fresh: false, marker}
    } catch (error) {
      if (!HoldfastError.is(error, 'database_damaged', 'peer_gone')) throw error
      fault = error.message
    }
  }
  const cause = found.some(({layout}) => layout === 'one-file') ? 'damaged' : 'old_layout'
  const given = {generation: newest.name, cause, detail: `The marker cannot be read. ${fault}`} as const
  return begin(place, {damaged: keptSetAside(others(''), Date.now()), given})
}

async function reopen(place: Place, found: Marker): Promise<Opened> {
  const marker = await usable(place, found)
  const {generation, suspect} = marker
  const giveUp = (cause: RecoveryCause, detail: string) =>
    begin(place, {damaged: marker.damaged, given: {generation, cause, detail}})
  if (suspect?.sign === 'certain') return giveUp('damaged', suspect.why)
  try {
    // A failure can be temporary, such as lack of memory. Give up only after a second one.
    const open = () => openExisting(place, generation, suspect ? 'stop_if_certain' : 'stop')
    const started = await open().catch(error => (isEmptied(error) ? Promise.reject(error) : open()))
    if (suspect) await orClose(started.db, () => verified(place, started.db, marker))
    return {...started, fresh: false, marker: {...marker, suspect: undefined}}
  } catch (error) {
    if (!HoldfastError.is(error, 'database_damaged')) throw error
    return giveUp(isEmptied(error) ? 'emptied' : 'damaged', [suspect?.why, error.message].filter(Boolean).join('. '))
  }
}

async function usable({folder, tookOver}: Place, marker: Marker): Promise<Marker> {
  return tookOver ? copiedIfHeld(folder, marker) : marker
}

/** Reads every row of a database with suspected damage. If all are readable, clears the suspicion. */
async function verified({folder}: Place, db: PGlite, marker: Marker): Promise<void> {
  try {
    await verifyEveryRow(db)
  } catch (error) {
    throw new HoldfastError('database_damaged', HoldfastError.from(error).message, {cause: error})
  }
  await writeMarker(folder, {...marker, suspect: undefined})
}

function isEmptied(error: unknown): boolean {
  return HoldfastError.is(error, 'database_damaged') && error.details.emptied === true
}

async function openExisting(place: Place, generation: string, onDamage: 'stop' | 'stop_if_certain'): Promise<Started> {
  return retryWhileBusy(async () => {
    const folder = await place.folder.getDirectoryHandle(generation, {create: true})
    const handles = await openFenced(folder, place.fence)
    const db = await bootOneFile(handles, {onDamage, onStopped: noting(place, generation)})
    await orClose(db, () => requireGeneration(db, originalOf(generation)))
    return {db, handles}
  })
}

/** Records damage in the marker before it calls `onStopped`, so that the next open verifies the database first. */
function noting({folder, onStopped}: Place, generation: string): Stopped {
  return error => {
    void note().finally(() => onStopped?.(error))

    async function note(): Promise<void> {
      if (!HoldfastError.is(error, 'database_damaged')) return
      const marker = await readMarker(folder)
      if (marker?.generation !== generation) return
      const sign = error.details.sign === 'suspected' ? 'suspected' : 'certain'
      await writeMarker(folder, {...marker, suspect: {sign, why: String(error.details.why ?? error.message)}})
    }
  }
}

async function begin(
  place: Place,
  {damaged, given}: {damaged: Marker['damaged']; given: Given | null},
): Promise<Opened> {
  const {folder} = place
  const loadDataDir = await place.prepared()
  const generation = crypto.randomUUID()
  const now = Date.now()
  const marker: Marker = {
    generation,
    ready: true,
    damaged: keptSetAside(given ? withSetAside({damaged}, given.generation, now) : damaged, now),
    ...(given && {salvage: given}),
  }
  // Without a previous database, mark the new one as unfinished. Otherwise the old marker stays valid until it is complete.
  if (!given) await writeMarker(folder, {...marker, ready: false})
  const inside = await folder.getDirectoryHandle(generation, {create: true})
  const handles = await openFenced(inside, place.fence)
  const db = await bootOneFile(handles, {loadDataDir, onDamage: 'stop', onStopped: noting(place, generation)})
  await orClose(db, async () => {
    await writeGeneration(db, generation)
    await writeMarker(folder, marker)
  })
  return {db, handles, fresh: true, marker}
}

async function previousOf(folder: FileSystemDirectoryHandle, marker: Marker): Promise<Previous | null> {
  const {salvage} = marker
  if (!salvage) {
    const cleared = await clearedIn(folder)
    if (!cleared) return null
    const detail = 'The files of the database had lost their names.'
    const open = () => Promise.reject(new HoldfastError('not_found', 'Nothing is left of it.'))
    return {cause: 'cleared', detail, setAside: null, open, done: cleared.done}
  }
  return {
    cause: salvage.cause,
    detail: salvage.detail,
    setAside: salvage.generation,
    open: async () => {
      const inside = await folder.getDirectoryHandle(salvage.generation)
      const handles = (await openHandles(inside, oneFileNames)).map(overlayHandle) as [Handle, Handle, Handle]
      const [data, first, second] = handles
      try {
        return await startForSalvage({fs: new OneFileFilesystem({data, trees: [first, second]})})
      } catch (error) {
        for (const handle of handles) handle.close()
        throw error
      }
    },
    done: () => writeMarker(folder, {...marker, salvage: undefined}),
  }
}
