import {HoldfastError} from '../../protocol/errors.ts'
import type {OutboxStorage} from '../outbox/outbox-storage.ts'
import type {Fence} from './lock-fence.ts'
import {oneFileNames} from './opfs-boot.ts'
import {outboxNames} from './opfs-copies.ts'
import {isDomError, openFolder} from './opfs-files.ts'
import {readMarker} from './opfs-marker.ts'
import {type HeldDatabase, rescue} from './opfs-rescue.ts'

/** Returns the root. Called for each use, because a root handle may be invalid after a deletion of the data. */
export type OpfsRoot = () => Promise<FileSystemDirectoryHandle>

const lookMs = 3_000
/** A write within this time after a successful check is not checked again. */
const trustMs = 1_000

/**
 * Watches whether the files of an open database still exist. After a browser deletes the data of a site, open handles keep
 * working, and their content is lost when they close. This class then copies the content to new files, and no write is
 * acknowledged until the database is opened from them. [LOG-9, SYNC-5]
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

  /** Rejects if the files were deleted. */
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
      // Other errors are no evidence of a deletion.
      return !isDomError(error, 'NotFoundError')
    }
  }

  async #end(): Promise<HoldfastError> {
    this.stop()
    const error = (await this.#takenOver()) ?? (await this.#rescued())
    this.onGone(error)
    return error
  }

  /** Detects a new owner, which removes the files after it copied them. Nothing is lost, and its files must not be changed. */
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
      // The disk is full, or the handles are invalid. The next open creates a new database and reports the loss.
      return new HoldfastError('not_durable', message, {cause, details: {rescued: false}})
    }
  }
}

/** Wraps an outbox so that a flushed append rejects if the files were deleted. */
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
