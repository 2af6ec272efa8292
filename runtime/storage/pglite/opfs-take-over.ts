import {HoldfastError} from '../../protocol/errors.ts'
import type {Handle} from '../one-file/handle.ts'
import {oneFileNames, openHandles} from './opfs-boot.ts'
import {beginCopy, currentOutbox, finishCopy, finishOutbox, nextCopy, outboxNames, readyName} from './opfs-copies.ts'
import {listNames, openAccess} from './opfs-files.ts'
import {type Marker, writeMarker} from './opfs-marker.ts'

/**
 * Copies the files if an unresponsive owner still holds them, and returns the marker to use. Held files can be read but
 * not opened for writing. The caller must have begun its term: later writes to the old files are not acknowledged, so the
 * copy contains all acknowledged data. A later open removes the old files.
 */
export async function copiedIfHeld(folder: FileSystemDirectoryHandle, marker: Marker): Promise<Marker> {
  const held = await folder.getDirectoryHandle(marker.generation, {create: true})
  if (await isFree(held, oneFileNames)) return marker
  const generation = nextCopy(marker.generation)
  const target = await beginCopy(folder, generation)
  for (const name of oneFileNames) await copyFile(held, name, target, name)
  await finishCopy(target)
  const copied = {...marker, generation}
  await writeMarker(folder, copied)
  return copied
}

export type OutboxHandles = {copy: number; handles: readonly Handle[]}

/** Opens the newest complete outbox. With `tookOver`, copies it first if the previous owner still holds it. */
export async function openOutboxHandles(
  folder: FileSystemDirectoryHandle,
  {tookOver}: {tookOver: boolean},
): Promise<OutboxHandles> {
  const names = await listNames(folder, 'file')
  const current = currentOutbox(names)
  if (tookOver && !(await isFree(folder, outboxNames(current)))) return copyOutbox(folder, current)
  const handles = await openHandles(folder, outboxNames(current))
  await removeOlder(folder, names, current)
  return {copy: current, handles}
}

async function copyOutbox(folder: FileSystemDirectoryHandle, current: number): Promise<OutboxHandles> {
  const [from, to] = [outboxNames(current), outboxNames(current + 1)]
  for (const [i, name] of from.entries()) await copyFile(folder, name, folder, to[i] ?? name)
  await finishOutbox(folder, current + 1)
  return {copy: current + 1, handles: await openHandles(folder, to)}
}

async function removeOlder(folder: FileSystemDirectoryHandle, names: string[], current: number): Promise<void> {
  for (let copy = 0; copy < current; copy++) {
    const older = [...outboxNames(copy), readyName(copy)].filter(name => names.includes(name))
    for (const name of older) await folder.removeEntry(name).catch(() => undefined)
  }
}

async function isFree(folder: FileSystemDirectoryHandle, names: readonly string[]): Promise<boolean> {
  try {
    for (const handle of await openHandles(folder, names)) handle.close()
    return true
  } catch (error) {
    if (HoldfastError.is(error, 'database_locked')) return false
    throw error
  }
}

const pieceBytes = 4 * 1024 * 1024

async function copyFile(
  source: FileSystemDirectoryHandle,
  from: string,
  target: FileSystemDirectoryHandle,
  to: string,
): Promise<void> {
  const file = await (await source.getFileHandle(from, {create: true})).getFile()
  const access = await openAccess(target, to)
  try {
    access.truncate(0)
    for (let at = 0; at < file.size; at += pieceBytes) {
      access.write(new Uint8Array(await file.slice(at, at + pieceBytes).arrayBuffer()), {at})
    }
    access.flush()
  } finally {
    access.close()
  }
}
