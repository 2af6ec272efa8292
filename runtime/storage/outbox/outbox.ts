import {HoldfastError} from '../../protocol/errors.ts'
import type {EventId} from '../../protocol/ids.ts'
import {decodeRecord, encodeRecord, type OutboxRecord} from './outbox-record.ts'
import {applyRecord, emptyOutbox, type OutboxState, recordsOf} from './outbox-state.ts'
import type {OutboxStorage} from './outbox-storage.ts'

/** An outbox shorter than this is not worth rewriting. */
const worthRewriting = 256 * 1024

export type LoadedOutbox = {
  state: OutboxState
  /** Every record that was ever written could be read. Also false for an outbox that holds nothing at all. */
  whole: boolean
}

/**
 * What was acknowledged on this device and what the server lacks, kept outside of the database, so that damage to either
 * of the two loses nothing. [LOG-9]
 *
 *   append ──▶ database commits ──▶ outbox flushed ──▶ acknowledged ──▶ server confirms ──▶ dropped here
 *
 * On opening the two are compared: what one lacks is taken from the other.
 */
export class Outbox {
  #queue: Promise<unknown> = Promise.resolve()
  /** Written while the device had no room; tried again with the next record. */
  #owed: Uint8Array[] = []
  /** Bytes of records that are needed, as of the last rewriting. */
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
   * Resolves when the records are durable. A device that has no room keeps them in memory and tries again later: the
   * database has them, and the next opening adds what the outbox lacks.
   *
   * @throws HoldfastError `not_durable` when its files cannot be written for another reason; nothing is written after that
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

  /** Makes `state` the whole content; nothing else is left in the files. [RET-3] */
  replace(state: OutboxState): Promise<void> {
    return this.#inTurn(() => this.#replace(state))
  }

  /** Removes all that is no longer needed from the files. [RET-3] */
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
