import {HoldfastError} from '../../protocol/errors.ts'
import {type Handle, readInto, writeAll} from '../one-file/handle.ts'
import type {OutboxStorage} from '../outbox/outbox-storage.ts'
import {isDomError, openAccess, openFolder, readText, writeText} from './opfs-files.ts'

/** Files of a database that is open, by the path of their folder below the origin's root. */
export type OpenFiles = {path: string[]; names: readonly string[]; handles: readonly Handle[]}

/** The browser's data of this site was deleted while the database was open. */
const clearedFile = 'cleared.json'
const lookMs = 3_000
/** After an acknowledged write the next ones trust the files for so long. */
const trustMs = 1_000
const pieceBytes = 1024 * 1024

/**
 * Watches whether the files of an open database still have their names. A browser that deletes the data of a site leaves
 * open handles working, on files that are gone when they are closed. Then what they hold is written to new files, and
 * nothing is acknowledged any more until the database is opened from those. [LOG-9, SYNC-5]
 */
export class Presence {
  #seenAt = 0
  #gone: Promise<HoldfastError> | null = null
  readonly #timer: ReturnType<typeof setInterval>

  constructor(
    private readonly root: FileSystemDirectoryHandle,
    private readonly files: readonly OpenFiles[],
    private readonly marker: {path: string[]; write(folder: FileSystemDirectoryHandle): Promise<void>},
    private readonly onGone: (error: HoldfastError) => void,
  ) {
    this.#timer = setInterval(() => void this.look(), lookMs)
    if (typeof this.#timer === 'object' && 'unref' in this.#timer) this.#timer.unref()
  }

  /** Rejects when the files are gone. */
  async require(): Promise<void> {
    if (performance.now() - this.#seenAt < trustMs) return
    const error = await this.look()
    if (error) throw error
  }

  async look(): Promise<HoldfastError | null> {
    if (!this.#gone && (await this.#arePresent())) {
      this.#seenAt = performance.now()
      return null
    }
    this.#gone ??= this.#rescued()
    return this.#gone
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #arePresent(): Promise<boolean> {
    try {
      for (const {path, names} of this.files) {
        let folder = this.root
        for (const part of path) folder = await folder.getDirectoryHandle(part)
        for (const name of names) await folder.getFileHandle(name)
      }
      return true
    } catch (error) {
      // What else may fail says nothing about the files.
      return !isDomError(error, 'NotFoundError')
    }
  }

  async #rescued(): Promise<HoldfastError> {
    this.stop()
    const error = new HoldfastError('not_durable', 'The browser deleted the data of this site while it was open.')
    const place = await openFolder(this.root, this.marker.path).catch(() => null)
    if (place) await writeText(place, clearedFile, '{}').catch(() => undefined)
    try {
      for (const {path, names, handles} of this.files) {
        const folder = await openFolder(this.root, path)
        for (const [i, name] of names.entries()) await copied(folder, name, handles[i])
      }
      if (place) await this.marker.write(place)
    } catch {
      // No room, or a browser that invalidates its handles: the next opening begins anew, and says so. Half a copy would
      // be taken for a database of another layout.
      await this.#removeCopies(place)
    }
    this.onGone(error)
    return error
  }

  async #removeCopies(place: FileSystemDirectoryHandle | null): Promise<void> {
    for (const {path} of this.files) {
      const [name] = path.slice(this.marker.path.length)
      if (name) await place?.removeEntry(name, {recursive: true}).catch(() => undefined)
    }
  }
}

async function copied(folder: FileSystemDirectoryHandle, name: string, from: Handle | undefined): Promise<void> {
  if (!from) return
  const to = await openAccess(folder, name)
  try {
    to.truncate(0)
    const piece = new Uint8Array(pieceBytes)
    for (let at = 0; ; ) {
      const read = readInto(from, piece, at)
      if (read === 0) break
      writeAll(to, piece.subarray(0, read), at)
      at += read
    }
    to.flush()
  } finally {
    to.close()
  }
}

/** Whether the last database here was deleted while it was open; `done` forgets it. */
export async function clearedIn(folder: FileSystemDirectoryHandle): Promise<{done(): Promise<void>} | null> {
  if ((await readText(folder, clearedFile)) === undefined) return null
  return {done: () => folder.removeEntry(clearedFile).catch(() => undefined)}
}

/** Nothing is acknowledged whose files are gone. */
export function presentOutbox(storage: OutboxStorage, presence: Presence): OutboxStorage {
  return {
    get size() {
      return storage.size
    },
    load: () => storage.load(),
    replace: records => storage.replace(records),
    async append(record, options) {
      await storage.append(record, options)
      if (options.flush) await presence.require()
    },
    close() {
      presence.stop()
      return storage.close()
    },
  }
}
