import {listNames, writeText} from './opfs-files.ts'

/**
 * Marks a complete copy. A database whose files are locked or deleted is copied under another name: `<generation>+<n>`,
 * and `outbox+<n>.0`. An incomplete copy must never be opened: it may look like an older, complete database.
 */
const wholeFile = 'whole'

/** The generation stored in the database, which is the same in all copies. */
export function originalOf(generation: string): string {
  return generation.split('+')[0] ?? generation
}

export function nextCopy(generation: string): string {
  return `${originalOf(generation)}+${copyNumber(generation) + 1}`
}

/** 0 for the original. */
export function copyNumber(generation: string): number {
  return Number(generation.split('+')[1] ?? 0)
}

/** Creates the folder of a copy. Clears the completion mark of an earlier attempt. */
export async function beginCopy(place: FileSystemDirectoryHandle, generation: string) {
  const folder = await place.getDirectoryHandle(generation, {create: true})
  await folder.removeEntry(wholeFile).catch(() => undefined)
  return folder
}

export function finishCopy(folder: FileSystemDirectoryHandle): Promise<void> {
  return writeText(folder, wholeFile, 'whole')
}

export async function isHalfCopy(folder: FileSystemDirectoryHandle, generation: string): Promise<boolean> {
  return copyNumber(generation) > 0 && !(await listNames(folder, 'file')).includes(wholeFile)
}

export function outboxNames(copy: number): string[] {
  return copy === 0 ? ['outbox.0', 'outbox.1'] : [`outbox+${copy}.0`, `outbox+${copy}.1`]
}

/** Number of the newest complete outbox. */
export function currentOutbox(names: readonly string[]): number {
  return Math.max(0, ...names.flatMap(name => /^outbox\+(\d+)\.ready$/.exec(name)?.[1] ?? []).map(Number))
}

export function finishOutbox(folder: FileSystemDirectoryHandle, copy: number): Promise<void> {
  return writeText(folder, readyName(copy), 'whole')
}

export function readyName(copy: number): string {
  return `outbox+${copy}.ready`
}
