import {type Handle, readInto, writeAll} from '../one-file/handle.ts'
import {oneFileNames} from './opfs-boot.ts'
import {beginCopy, finishCopy, finishOutbox, nextCopy, outboxNames} from './opfs-copies.ts'
import {openAccess, readText, writeText} from './opfs-files.ts'
import {type Marker, writeMarker} from './opfs-marker.ts'

/** An open database: the path of its folder below the origin's root, and its open handles, which work after a deletion. */
export type HeldDatabase = {
  path: string[]
  marker: Marker
  data: readonly Handle[]
  outbox: {copy: number; handles: readonly Handle[]}
}

/** Records that the site's data was deleted while the database was open. */
const clearedFile = 'cleared.json'
const pieceBytes = 1024 * 1024

/**
 * Copies the content of the open handles to new files. They get new names, because a browser may keep the old names
 * locked while the handles are open. The marker is written last, so an incomplete copy is never opened. [LOG-9]
 */
export async function rescue(folder: FileSystemDirectoryHandle, held: HeldDatabase): Promise<void> {
  await writeText(folder, clearedFile, '{}')
  const generation = nextCopy(held.marker.generation)
  const copy = held.outbox.copy + 1
  const inside = await beginCopy(folder, generation)
  await copyAll([
    {folder: inside, names: oneFileNames, handles: held.data},
    {folder, names: outboxNames(copy), handles: held.outbox.handles},
  ])
  await finishOutbox(folder, copy)
  await finishCopy(inside)
  await writeMarker(folder, {generation, ready: true, damaged: []})
}

type Copied = {folder: FileSystemDirectoryHandle; names: readonly string[]; handles: readonly Handle[]}

/** Copies all files synchronously, so that Postgres cannot write to one while another is copied. */
async function copyAll(all: readonly Copied[]): Promise<void> {
  const pairs: {from: Handle; to: Handle}[] = []
  try {
    for (const {folder, names, handles} of all) {
      for (const [i, name] of names.entries()) {
        const from = handles[i]
        if (from) pairs.push({from, to: await openAccess(folder, name)})
      }
    }
    for (const {from, to} of pairs) copyBytes(from, to)
  } finally {
    for (const {to} of pairs) to.close()
  }
}

function copyBytes(from: Handle, to: Handle): void {
  to.truncate(0)
  const piece = new Uint8Array(pieceBytes)
  for (let at = 0; ; ) {
    const read = readInto(from, piece, at)
    if (read === 0) break
    writeAll(to, piece.subarray(0, read), at)
    at += read
  }
  to.flush()
}

/** Returns non-null if the last database was deleted while it was open. `done` clears this record. */
export async function clearedIn(folder: FileSystemDirectoryHandle): Promise<{done(): Promise<void>} | null> {
  if ((await readText(folder, clearedFile)) === undefined) return null
  return {done: () => folder.removeEntry(clearedFile).catch(() => undefined)}
}
