import {HoldfastError} from '../../protocol/errors.ts'
import type {NotedOutbox} from '../outbox/outbox-indexed-db.ts'
import {indexedDbNames} from './indexed-db-names.ts'
import {within} from './within.ts'

const lookMs = 3_000
/** A write within this time after a successful check is not checked again. */
const trustMs = 1_000
/** A deletion becomes visible some time after it aborts a write, and can also delete databases created meanwhile. */
const settling = {looks: 10, paceMs: 100}
/** Time limit of the rescue. A deletion can block `open` until this worker ends; then the next owner writes the records. */
const rescueMs = 3_000

type Held = {
  outbox: NotedOutbox
  /** Names of the databases that must exist. */
  names: readonly string[]
  /** Opens the outbox, and creates it if it was deleted. */
  reopen(): Promise<NotedOutbox>
  /** The note to store for the next open. */
  note: unknown
  onGone(error: HoldfastError): void
}

export interface PresentOutbox extends NotedOutbox {
  /** Returns the copy in memory of all records, including those of a failed write. */
  records(): readonly Uint8Array[]
  /** Checks for a deletion after a failure. Resolves after the rescue, with the error, or with null if nothing was deleted. */
  lookAfterFailure(): Promise<HoldfastError | null>
}

/**
 * Wraps an outbox and watches whether its database and that of Postgres still exist. A browser that deletes the data of a
 * site closes both. The unsent records are then written to a new outbox, and no write is acknowledged until the database
 * is opened again. [LOG-9, SYNC-5]
 */
export function presentIndexedDb(held: Held): PresentOutbox {
  const {outbox, names, onGone} = held
  /** Copy of all records. A deleted database cannot be read. */
  let kept: Uint8Array[] = []
  let seenAt = 0
  let closed = false
  let ended: Promise<HoldfastError> | null = null

  const arePresent = async () => {
    if (closed) return false
    const found = await indexedDbNames().catch(() => null)
    // A failed request is no evidence of a deletion.
    return found === null || names.every(name => found.has(name))
  }

  const end = async (): Promise<HoldfastError> => {
    clearInterval(timer)
    const message = 'The browser deleted the data of this site while it was open.'
    await outbox.close().catch(() => undefined)
    const rescued = await within(rescueMs, rescue(held, kept)).then(
      () => true,
      () => false,
    )
    const error = new HoldfastError('not_durable', message, {details: {rescued}})
    onGone(error)
    return error
  }

  const look = async (): Promise<HoldfastError | null> => {
    if (ended) return ended
    const present = await arePresent()
    if (present && !ended) {
      seenAt = performance.now()
      return null
    }
    ended ??= end()
    return ended
  }

  const lookAfterFailure = async () => {
    for (let looks = 1; looks < settling.looks; looks++) {
      const gone = await look()
      if (gone) return gone
      await pause()
    }
    return look()
  }

  /** Runs a write. If the browser closed the connection, the error of `lookAfterFailure` replaces that of the write. */
  const write = async (records: readonly Uint8Array[], work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      kept = [...records]
      throw (await lookAfterFailure()) ?? error
    }
    kept = [...records]
    if (performance.now() - seenAt < trustMs) return
    const gone = await look()
    if (gone) throw gone
  }

  const timer = setInterval(() => void look(), lookMs)
  outbox.onClosed(() => {
    closed = true
    void look()
  })
  return {
    ...outbox,
    records: () => kept,
    lookAfterFailure,
    get size() {
      return outbox.size
    },
    async load() {
      const loaded = await outbox.load()
      kept = [...loaded.records]
      return loaded
    },
    append: (record, options) => write([...kept, record], () => outbox.append(record, options)),
    replace: records => write(records, () => outbox.replace(records)),
    async close() {
      clearInterval(timer)
      await outbox.close()
    },
  }
}

/** @throws HoldfastError `not_durable` if the browser deletes every new outbox as well */
async function rescue({reopen, note}: Held, records: readonly Uint8Array[]): Promise<void> {
  for (let tries = 0; tries < settling.looks; tries++) {
    const written = await keep(reopen, records, note).catch(() => false)
    await pause()
    if (written && (await isKept(reopen, records.length))) return
  }
  throw new HoldfastError('not_durable', 'The browser deletes every database of this site.')
}

async function keep(reopen: Held['reopen'], records: readonly Uint8Array[], note: unknown): Promise<true> {
  const fresh = await reopen()
  try {
    await fresh.replace(records)
    await fresh.writeNote(note)
    return true
  } finally {
    await fresh.close()
  }
}

async function isKept(reopen: Held['reopen'], count: number): Promise<boolean> {
  const fresh = await reopen()
  try {
    return (await fresh.load()).records.length === count && (await fresh.note()) !== undefined
  } catch {
    return false
  } finally {
    await fresh.close()
  }
}

function pause(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, settling.paceMs))
}
