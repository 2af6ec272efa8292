import {copyNumber, isHalfCopy, originalOf} from './opfs-copies.ts'
import {isDomError, listNames} from './opfs-files.ts'
import {type Marker, writeMarker} from './opfs-marker.ts'

/** Maximum number and age of the databases that are kept after they were set aside. */
export const setAsideLimits = {copies: 2, days: 30}
const dayMs = 24 * 60 * 60 * 1000

export type Generation = {name: string; layout: 'one-file' | 'other'; changedAt: number}

/**
 * Lists the folders that hold a database, the most recently written first. A copy precedes its original regardless of
 * their times, because the original was unusable when the copy was made. Incomplete copies are skipped.
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

/** Adds a generation to those set aside. */
export function withSetAside(marker: Pick<Marker, 'damaged'>, generation: string, now: number): Marker['damaged'] {
  return [...marker.damaged.filter(one => one.generation !== generation), {generation, at: now}]
}

/** Selects the generations to keep. An unknown time (0) counts as `now`. */
export function keptSetAside(damaged: Marker['damaged'], now: number): Marker['damaged'] {
  return damaged
    .map(({generation, at}) => ({generation, at: at === 0 ? now : at}))
    .toSorted((a, b) => b.at - a.at)
    .slice(0, setAsideLimits.copies)
    .filter(({at}) => now - at < setAsideLimits.days * dayMs)
}

/**
 * Removes all generations that are neither in use nor to be kept. One with open files is removed by a later open.
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
