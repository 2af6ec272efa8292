import {copyNumber, isHalfCopy, originalOf} from './opfs-copies.ts'
import {isDomError, listNames} from './opfs-files.ts'
import {type Marker, writeMarker} from './opfs-marker.ts'

/** How many copies that were set aside are kept, and for how long. */
export const setAsideLimits = {copies: 2, days: 30}
const dayMs = 24 * 60 * 60 * 1000

export type Generation = {name: string; layout: 'one-file' | 'other'; changedAt: number}

/**
 * Folders that hold a database, the one that was written to last first. A copy was made because its original could not be
 * used any more, so it comes before that, whatever the clock said; a copy that was not finished holds nothing.
 */
export async function generationsIn(folder: FileSystemDirectoryHandle): Promise<Generation[]> {
  const found: Generation[] = []
  for (const name of await listNames(folder, 'directory')) {
    const inside = await folder.getDirectoryHandle(name)
    if (await isHalfCopy(inside, name)) continue
    const trees = await Promise.all(['tree.0', 'tree.1'].map(file => changedAt(inside, file)))
    const data = await changedAt(inside, 'data')
    const layout = data !== null && trees.some(at => at !== null) ? 'one-file' : 'other'
    found.push({name, layout, changedAt: Math.max(data ?? 0, ...trees.map(at => at ?? 0))})
  }
  return newestCopies(found)
}

function newestCopies(found: readonly Generation[]): Generation[] {
  const usedAt = new Map<string, number>()
  for (const {name, changedAt} of found) {
    usedAt.set(originalOf(name), Math.max(changedAt, usedAt.get(originalOf(name)) ?? 0))
  }
  const lastUse = ({name}: Generation) => usedAt.get(originalOf(name)) ?? 0
  return found.toSorted((a, b) => lastUse(b) - lastUse(a) || copyNumber(b.name) - copyNumber(a.name))
}

async function changedAt(folder: FileSystemDirectoryHandle, file: string): Promise<number | null> {
  try {
    return (await (await folder.getFileHandle(file)).getFile()).lastModified
  } catch (error) {
    if (isDomError(error, 'NotFoundError', 'TypeMismatchError')) return null
    throw error
  }
}

/** With one more set aside. */
export function withSetAside(marker: Pick<Marker, 'damaged'>, generation: string, now: number): Marker['damaged'] {
  return [...marker.damaged.filter(one => one.generation !== generation), {generation, at: now}]
}

/** Which of the copies that were set aside are kept. The age of one whose time is unknown counts from now. */
export function keptSetAside(damaged: Marker['damaged'], now: number): Marker['damaged'] {
  return damaged
    .map(({generation, at}) => ({generation, at: at === 0 ? now : at}))
    .toSorted((a, b) => b.at - a.at)
    .slice(0, setAsideLimits.copies)
    .filter(({at}) => now - at < setAsideLimits.days * dayMs)
}

/**
 * Removes every generation that is neither in use nor to be kept; one whose files are still in use goes with the next
 * opening.
 */
export async function removeExpired(folder: FileSystemDirectoryHandle, marker: Marker, now: number): Promise<Marker> {
  const damaged = keptSetAside(marker.damaged, now)
  if (JSON.stringify(damaged) !== JSON.stringify(marker.damaged)) await writeMarker(folder, {...marker, damaged})
  const kept = new Set([marker.generation, marker.salvage?.generation, ...damaged.map(one => one.generation)])
  for (const name of await listNames(folder, 'directory')) {
    if (!kept.has(name)) await folder.removeEntry(name, {recursive: true}).catch(() => undefined)
  }
  return {...marker, damaged}
}
