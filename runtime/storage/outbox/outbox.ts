import {HoldfastError} from '../../protocol/errors.ts'
import type {EventId} from '../../protocol/ids.ts'
import {decodeRecord, encodeRecord, type OutboxRecord} from './outbox-record.ts'
import {applyRecord, emptyOutbox, type OutboxState, recordsOf} from './outbox-state.ts'
import type {OutboxStorage} from './outbox-storage.ts'

/** Minimum size for a rewrite, in bytes (256 KiB). */
const worthRewriting = 256 * 1024

export type LoadedOutbox = {
  state: OutboxState
  /** True if all records could be read. False for an empty outbox. */
  whole: boolean
}

/**
 * Keeps all acknowledged, unsent data in a second place outside the database, so that damage to one of the two loses
 * nothing. [LOG-9]
 *
 *   append ──▶ database commits ──▶ outbox flushed ──▶ acknowledged ──▶ server confirms ──▶ dropped here
 *
 * On open, the two are compared, and each receives the records that it lacks.
 */
export class Outbox {
  #queue: Promise<unknown> = Promise.resolve()
  /** Records that could not be written because the disk was full. Retried with the next write. */
  #owed: Uint8Array[] = []
  /** Size in bytes after the last load or rewrite. */
  #needed = 0
  #failed: HoldfastError | null = null
  readonly #events = new Set<EventId>()

  constructor(private readonly storage: OutboxStorage) {}

  async load(): Promise<LoadedOutbox> {
    const {records, unreadable} = await this.storage.load()
    const state = emptyOutbox()
    let unknown = 0
    for (const bytes of records) {
      const record = decodeRecord(bytes)
      if (record) applyRecord(state, record)
      else unknown += 1
    }
    this.#needed = this.storage.size
    this.#hold(state)
    return {state, whole: state.device !== null && unreadable === 0 && unknown === 0}
  }

  /**
   * Appends records. With `flush`, resolves when they are durable. If the disk is full, resolves as well: the records
   * stay in memory and are retried with the next write. The database has them, and the next open adds them.
   *
   * @throws HoldfastError `not_durable` if the files cannot be written for another reason. All later writes fail too.
   */
  write(records: readonly OutboxRecord[], options: {flush: boolean} = {flush: true}): Promise<void> {
    if (records.length === 0) return Promise.resolve()
    return this.#inTurn(async () => {
      for (const record of records) this.#note(record)
      this.#owed.push(...records.map(encodeRecord))
      while (this.#owed[0]) {
        const flush = options.flush && this.#owed.length === 1
        if (!(await this.#append(this.#owed[0], flush))) return
        this.#owed.shift()
      }
      await this.#rewriteIfWorthIt()
    })
  }

  /** Replaces the whole content with `state`. Older records are removed from the files. [RET-3] */
  replace(state: OutboxState): Promise<void> {
    return this.#inTurn(() => this.#replace(state))
  }

  /** Rewrites the files without obsolete records. [RET-3] */
  rewrite(): Promise<void> {
    return this.#inTurn(() => this.#rewrite())
  }

  holds(event: EventId): boolean {
    return this.#events.has(event)
  }

  async close(): Promise<void> {
    await this.#queue.catch(() => undefined)
    await this.storage.close()
  }

  async #append(record: Uint8Array, flush: boolean): Promise<boolean> {
    try {
      await this.storage.append(record, {flush})
      return true
    } catch (error) {
      if (isFull(error)) return false
      this.#failed = new HoldfastError('not_durable', 'The outbox of this device cannot be written.', {cause: error})
      throw this.#failed
    }
  }

  #note(record: OutboxRecord): void {
    if (record.type === 'events') for (const {id} of record.events) this.#events.add(id)
    if (record.type === 'confirmed') for (const id of record.events) this.#events.delete(id)
  }

  #hold(state: OutboxState): void {
    this.#events.clear()
    for (const id of state.events.keys()) this.#events.add(id)
  }

  async #rewriteIfWorthIt(): Promise<void> {
    if (this.storage.size < worthRewriting || this.storage.size < 2 * this.#needed) return
    try {
      await this.#rewrite()
    } catch (error) {
      if (!isFull(error)) throw error
      this.#needed = this.storage.size
    }
  }

  async #rewrite(): Promise<void> {
    await this.#replace((await this.load()).state)
  }

  async #replace(state: OutboxState): Promise<void> {
    await this.storage.replace(recordsOf(state).map(encodeRecord))
    this.#owed = []
    this.#hold(state)
    this.#needed = this.storage.size
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(() => {
      if (this.#failed) throw this.#failed
      return work()
    })
    this.#queue = result.catch(() => undefined)
    return result
  }
}

function isFull(error: unknown): boolean {
  if (HoldfastError.is(error, 'storage_full')) return true
  if (error instanceof DOMException) return error.name === 'QuotaExceededError'
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC'
}
