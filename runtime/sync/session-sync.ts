import {HoldfastError} from '../protocol/errors.ts'
import type {Envelope, LoggedEvent} from '../protocol/event.ts'
import {jsonBytes} from '../protocol/json.ts'
import {limits} from '../protocol/version.ts'
import type {EventVerdict} from '../protocol/wire.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import {lackingBlobs, sendBlobs, untilBlobs} from './blob-sync.ts'
import {LinePace} from './line-pace.ts'
import {acceptedInOrder, isSetBack, rejections} from './read-verdicts.ts'
import {requireSameRecord, serverBehind} from './server-behind.ts'
import type {ServerLink} from './server-link.ts'

type SyncOptions = {
  /** Bounds each request. */
  pace?: LinePace
  onRejected?: (verdicts: readonly EventVerdict[]) => void
  /** The server has accepted new events, up to this head. */
  onPushed?: (head: number) => void
  /** The server has no room for bytes that an event names. */
  onNoRoom?: () => void
}

/** A copy of this database may be counting at the same time; after that what is refused is kept with its reason. */
const mostRenumbered = 3

/**
 * Brings one session level with the server: pushes what is pending, oldest first, and pulls what is missing.
 * Restartable anywhere, since both halves only say again what the records say. [SYNC-1, SYNC-3, SYNC-4]
 */
export async function syncSession(
  link: ServerLink,
  store: DeviceStore,
  log: SessionLog,
  {pace = new LinePace(), onRejected, onPushed, onNoRoom}: SyncOptions = {},
): Promise<void> {
  let sentAgain = false
  let renumbered = 0
  for (;;) {
    const {redactions} = log
    const events = untilBlobs(await store.pending(log.id, limits.batchEvents))
    const batch = withinBytes(events.map(asStored), pace.bytes)
    if (batch.length === 0) break
    await sendBlobs(link, store, log.id, events, onNoRoom)
    const before = log.head
    const {verdicts, head} = await pace.measure(() => link.push(log.id, batch))
    await requireSameRecord(store, log, {before, head, verdicts})
    if (verdicts.some(({status}) => status === 'accepted')) onPushed?.(head)
    const lacking = lackingBlobs(verdicts)
    for (const id of lacking) await store.markBlob(log.id, id, 'unsent')
    if (lacking.length > 0 && sentAgain) {
      throw new HoldfastError('internal', `the server lacks the bytes of ${lacking.join(', ')}, which it was sent`)
    }
    if (lacking.length > 0) {
      sentAgain = true
      continue
    }
    await log.receive(acceptedInOrder(batch, verdicts), redactions)
    // First what the server judged by, then its verdicts: else the loop would try the same again in between.
    if (log.head < head) await pullSession(link, log, pace)
    if (isSetBack(verdicts) && renumbered < mostRenumbered) {
      await log.renumber()
      renumbered += 1
      continue
    }
    const refused = rejections(verdicts)
    await log.reject(refused)
    if (refused.length > 0) onRejected?.(verdicts)
    if (!progressed(batch, await store.pending(log.id, 1))) break
  }
}

/** Pulls pages until nothing is missing. */
export async function pullSession(link: ServerLink, log: SessionLog, pace = new LinePace()): Promise<void> {
  while (await pullPage(link, log, pace)) {}
}

/** Pages that are being fetched. Callers share them, so that none is fetched twice. */
const onTheirWay = new WeakMap<SessionLog, Promise<boolean>>()

/** Pulls one page and stores it. Returns true if there are more. [SYNC-8] */
export function pullPage(link: ServerLink, log: SessionLog, pace = new LinePace()): Promise<boolean> {
  const coming = onTheirWay.get(log)
  if (coming) return coming
  const page = pullNewPage(link, log, pace).finally(() => onTheirWay.delete(log))
  onTheirWay.set(log, page)
  return page
}

async function pullNewPage(link: ServerLink, log: SessionLog, pace: LinePace): Promise<boolean> {
  const {head: before, redactions} = log
  const page = await pace.measure(() => link.pull(log.id, before, pace.bytes))
  if (page.head < before) throw serverBehind()
  await log.receive(page.events, redactions)
  // The page may hold words that were erased meanwhile, so it was not stored.
  if (log.redactions !== redactions) return true
  // A server that reports "more" but sends nothing new must not cause a loop.
  return page.more && log.head > before
}

function progressed(batch: readonly Envelope[], pending: readonly LoggedEvent[]): boolean {
  return pending[0] !== undefined && pending[0].id !== batch[0]?.id
}

/** An event that this version cannot read is sent as it was written; that we cannot read it is our own remark. */
function asStored(event: LoggedEvent): Envelope {
  const {unreadable: _, ...envelope} = event as Envelope & {unreadable?: string}
  return envelope
}

function withinBytes(events: readonly Envelope[], most: number): Envelope[] {
  let bytes = 0
  const batch: Envelope[] = []
  for (const event of events) {
    bytes += jsonBytes(event) + 1
    if (bytes > most && batch.length > 0) break
    batch.push(event)
  }
  return batch
}
