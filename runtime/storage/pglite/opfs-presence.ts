import {HoldfastError} from '../../protocol/errors.ts'
import type {OutboxStorage} from '../outbox/outbox-storage.ts'
import type {Fence} from './lock-fence.ts'
import {oneFileNames} from './opfs-boot.ts'
import {outboxNames} from './opfs-copies.ts'
import {isDomError, openFolder} from './opfs-files.ts'
import {readMarker} from './opfs-marker.ts'
import {type HeldDatabase, rescue} from './opfs-rescue.ts'

/** Asked anew each time: a handle of the root from before the data was deleted may be of no use. */
export type OpfsRoot = () => Promise<FileSystemDirectoryHandle>

const lookMs = 3_000
/** After an acknowledged write the next ones trust the files for so long. */
const trustMs = 1_000

/**
 * Watches whether the files of an open database still have their names. A browser that deletes the data of a site leaves
 * open handles working, on files that are gone when they are closed. Then what they hold is written to new files, and
 * nothing is acknowledged any more until the database is opened from those. [LOG-9, SYNC-5]
 */
export class Presence {
  #seenAt = 0
  #ended: Promise<HoldfastError> | null = null
  readonly #timer: ReturnType<typeof setInterval>

  constructor(
    private readonly root: OpfsRoot,
    private readonly held: HeldDatabase,
    private readonly requireTerm: Fence,
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
    if (!this.#ended && (await this.#arePresent())) {
      this.#seenAt = performance.now()
      return null
    }
    this.#ended ??= this.#end()
    return this.#ended
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #arePresent(): Promise<boolean> {
    const {path, marker, outbox} = this.held
    try {
      let folder = await this.root()
      for (const part of path) folder = await folder.getDirectoryHandle(part)
      const inside = await folder.getDirectoryHandle(marker.generation)
      for (const name of oneFileNames) await inside.getFileHandle(name)
      for (const name of outboxNames(outbox.copy)) await folder.getFileHandle(name)
      return true
    } catch (error) {
      // What else may fail says nothing about the files.
      return !isDomError(error, 'NotFoundError')
    }
  }

  async #end(): Promise<HoldfastError> {
    this.stop()
    const error = (await this.#takenOver()) ?? (await this.#rescued())
    this.onGone(error)
    return error
  }

  /** A new owner removes the files that it has copied: then nothing is lost, and its files must stay as they are. */
  async #takenOver(): Promise<HoldfastError | null> {
    try {
      this.requireTerm()
      const marker = await readMarker(await openFolder(await this.root(), this.held.path))
      if (!marker || marker.generation === this.held.marker.generation) return null
    } catch (error) {
      return HoldfastError.is(error, 'database_locked') ? error : null
    }
    return new HoldfastError('database_locked', 'Another tab has taken the database over.')
  }

  async #rescued(): Promise<HoldfastError> {
    const message = 'The browser deleted the data of this site while it was open.'
    try {
      await rescue(await openFolder(await this.root(), this.held.path), this.held)
      return new HoldfastError('not_durable', message, {details: {rescued: true}})
    } catch (cause) {
      // No room, or a browser that invalidates its handles: the next opening begins anew, and says so.
      return new HoldfastError('not_durable', message, {cause, details: {rescued: false}})
    }
  }
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
