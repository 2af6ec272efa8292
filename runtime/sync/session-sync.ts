import {HoldfastError} from '../protocol/errors.ts'
import type {Envelope, LoggedEvent} from '../protocol/event.ts'
import {jsonBytes} from '../protocol/json.ts'
import {limits} from '../protocol/version.ts'
import type {EventVerdict} from '../protocol/wire.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import {lackingBlobs, sendBlobs, untilBlobs} from './blob-sync.ts'
import {acceptedInOrder, rejections} from './read-verdicts.ts'
import type {ServerLink} from './server-link.ts'

/** Room for the envelope of the request itself. */
const batchBytes = limits.bodyBytes - 16 * 1024

/**
 * Brings one session level with the server: pushes what is pending, oldest first, and pulls what is missing.
 * Restartable anywhere, since both halves only say again what the records say. [SYNC-1, SYNC-3, SYNC-4]
 */
export async function syncSession(
  link: ServerLink,
  store: DeviceStore,
  log: SessionLog,
  onRejected?: (verdicts: readonly EventVerdict[]) => void,
): Promise<void> {
  let sentAgain = false
  for (;;) {
    const events = untilBlobs(await store.pending(log.id, limits.batchEvents))
    const batch = withinBytes(events.map(asStored))
    if (batch.length === 0) break
    await sendBlobs(link, store, log.id, events)
    const {verdicts, head} = await link.push(log.id, batch)
    const lacking = lackingBlobs(verdicts)
    for (const id of lacking) await store.markBlob(log.id, id, 'unsent')
    if (lacking.length > 0 && sentAgain) {
      throw new HoldfastError('not_durable', `the server lacks the bytes of ${lacking.join(', ')}, which it was sent`)
    }
    if (lacking.length > 0) {
      sentAgain = true
      continue
    }
    await log.receive(acceptedInOrder(batch, verdicts))
    // First what the server judged by, then its verdicts: else the loop would try the same again in between.
    if (log.head < head) await pullSession(link, log)
    const refused = rejections(verdicts)
    await log.reject(refused)
    if (refused.length > 0) onRejected?.(verdicts)
    if (!progressed(batch, await store.pending(log.id, 1))) break
  }
}

/** Pulls pages until nothing is missing. */
export async function pullSession(link: ServerLink, log: SessionLog): Promise<void> {
  for (;;) {
    const before = log.head
    const page = await link.pull(log.id, before)
    await log.receive(page.events)
    // A server that says "more" but sends nothing new must not make us loop.
    if (!page.more || log.head === before) return
  }
}

function progressed(batch: readonly Envelope[], pending: readonly LoggedEvent[]): boolean {
  return pending[0] !== undefined && pending[0].id !== batch[0]?.id
}

/** An event that this version cannot read is sent as it was written; that we cannot read it is our own remark. */
function asStored(event: LoggedEvent): Envelope {
  const {unreadable: _, ...envelope} = event as Envelope & {unreadable?: string}
  return envelope
}

function withinBytes(events: readonly Envelope[]): Envelope[] {
  let bytes = 0
  const batch: Envelope[] = []
  for (const event of events) {
    bytes += jsonBytes(event) + 1
    if (bytes > batchBytes && batch.length > 0) break
    batch.push(event)
  }
  return batch
}
