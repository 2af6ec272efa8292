import * as Y from 'yjs'
import {HoldfastError} from '../protocol/errors.ts'
import type {EventId, SessionId} from '../protocol/ids.ts'

/** The edits of one event. The id stays the same until the device has stored it, so a retry is stored once. */
export type EditBatch = {event: EventId; update: Uint8Array}

/** Edits of one document within this many milliseconds become one event. A killed page loses at most these. */
const windowMs = 1_000
/** Maximum bytes of one batch. Base64 adds a third, and an update may have 64 KiB. */
const batchBytes = 48 * 1024
const retryMs = {first: 1_000, most: 30_000}

/** The batch that is being collected. `due` resolves when it is durable; `now` ends the pause before it. */
type Turn = {due: Promise<void>; now: () => void}

type Parts = {
  session: SessionId
  document: string
  nextId: () => EventId
  send: (batch: EditBatch) => Promise<void>
  /** Outboxes with edits that are not durable yet. Each adds and removes itself. */
  open?: Set<EditOutbox>
}

/**
 * Collects the edits of one document and sends them as few events: the first at once, those of the next second as one.
 * Order is kept: a batch that could not be sent stays first and is retried. [WRK-2]
 */
export class EditOutbox {
  readonly session: SessionId
  readonly document: string
  #collected: Uint8Array[] = []
  #batches: EditBatch[] = []
  #turn: Turn | null = null
  #sending: Promise<void> = Promise.resolve()
  #sentAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #retry: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly parts: Parts) {
    this.session = parts.session
    this.document = parts.document
  }

  /** Resolves when the update is durable on this device. */
  add(update: Uint8Array): Promise<void> {
    this.#collected.push(update)
    this.parts.open?.add(this)
    this.#turn ??= this.#wait()
    return this.#turn.due
  }

  /** Sends the collected edits now. Resolves when all of them are durable. */
  flush(): Promise<void> {
    this.#turn?.now()
    return this.#turn?.due ?? (this.#batches.length > 0 ? this.#send() : this.#sending)
  }

  /** Returns the batches that are not durable yet, so that they can be kept when the page goes away. */
  unsent(): readonly EditBatch[] {
    this.#close()
    return this.#batches
  }

  #wait(): Turn {
    const pause = Math.max(0, this.#sentAt + windowMs - Date.now())
    let now: () => void = () => undefined
    const ready = new Promise<void>(resolve => {
      const timer = setTimeout(resolve, pause)
      now = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    const due = ready.then(() => {
      this.#turn = null
      this.#close()
      return this.#send()
    })
    return {due, now}
  }

  /** Closes the current batch and gives it an id. Later edits belong to the next batch. */
  #close(): void {
    const updates = this.#collected
    this.#collected = []
    for (const update of grouped(updates)) this.#batches.push({event: this.parts.nextId(), update})
  }

  #send(): Promise<void> {
    clearTimeout(this.#retry)
    const sending = this.#sending.catch(() => undefined).then(() => this.#sendAll())
    this.#sending = sending
    sending.catch(() => undefined)
    return sending
  }

  async #sendAll(): Promise<void> {
    try {
      for (let batch = this.#batches[0]; batch; batch = this.#batches[0]) {
        await this.parts.send(batch)
        this.#batches.shift()
      }
      this.#failures = 0
      this.#sentAt = Date.now()
      if (this.#collected.length === 0) this.parts.open?.delete(this)
    } catch (error) {
      this.#retryLater(error)
      throw error
    }
  }

  /** Retries only temporary failures. After any other failure, the next edit or flush tries again. */
  #retryLater(error: unknown): void {
    if (!HoldfastError.is(error, 'deadline') && !HoldfastError.is(error, 'peer_gone')) return
    const pause = Math.min(retryMs.most, retryMs.first * 2 ** this.#failures)
    this.#failures += 1
    this.#retry = setTimeout(() => void this.#send().catch(() => undefined), pause)
  }
}

/**
 * Stores pending edits first, so that the agent sees what was typed before a message was sent. A failed edit is
 * reported to the caller of `edit`.
 */
export async function flushEdits(edits: Iterable<EditOutbox> = [], session?: SessionId): Promise<void> {
  const open = [...edits].filter(outbox => session === undefined || outbox.session === session)
  await Promise.all(open.map(outbox => outbox.flush().catch(() => undefined)))
}

/** Merges updates, in order, into as few as fit into one event each. */
function grouped(updates: readonly Uint8Array[]): Uint8Array[] {
  const groups: {bytes: number; updates: Uint8Array[]}[] = []
  for (const update of updates) {
    const last = groups.at(-1)
    if (last && last.bytes + update.length <= batchBytes) {
      last.bytes += update.length
      last.updates.push(update)
    } else groups.push({bytes: update.length, updates: [update]})
  }
  return groups.map(group => (group.updates.length === 1 ? group.updates[0]! : Y.mergeUpdates(group.updates)))
}
