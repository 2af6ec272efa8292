import {HoldfastError, parse} from '../protocol/errors.ts'
import {historyEntries, historyRequestSchema} from '../protocol/history-request.ts'
import {type EventId, eventIdSchema, type SessionId} from '../protocol/ids.ts'
import {type DurableEvent, type TranscriptEntry, transcriptOf} from '../protocol/transcript.ts'
import type {DeviceStore} from '../storage/device-store.ts'

/** Part of a conversation, oldest first. `earlier`: there are more entries before these. */
export type HistoryPage = {entries: TranscriptEntry[]; earlier: boolean}

/** Limits of one page: events, bytes of their JSON, and entries. */
const most = {events: 400, bytes: 512 * 1024, entries: historyEntries}

/**
 * Returns the entries before an event, from this device's log. A call has its result, even if the result came later.
 */
export async function readHistory(
  store: Pick<DeviceStore, 'window' | 'outcomesAfter'>,
  session: SessionId,
  asked: {before: string; limit?: number | undefined},
): Promise<HistoryPage> {
  const {before, limit = 50} = parse(historyRequestSchema, asked, 'history')
  const kept: TranscriptEntry[] = []
  let at: EventId | null = before
  let earlier = true
  while (at && earlier && kept.length < limit) {
    const page: {events: DurableEvent[]; earlier: boolean} = await store.window(session, {...most, before: at})
    kept.unshift(...(await entriesOf(store, session, page.events, at)))
    earlier = page.earlier
    at = page.events[0]?.event.id ?? null
  }
  const from = firstOfEvent(kept, kept.length - limit)
  return {entries: kept.slice(from), earlier: earlier || from > 0}
}

/** Returns all entries of one event with their complete texts. */
export async function readEntry(
  store: Pick<DeviceStore, 'window' | 'outcomesAfter'>,
  session: SessionId,
  id: string,
): Promise<TranscriptEntry[]> {
  const event = parse(eventIdSchema, id, 'entry')
  const {events} = await store.window(session, {events: 1, bytes: 0, before: event, including: true})
  if (events[0]?.event.id !== event) throw new HoldfastError('not_found', `entry ${id}: not in this session`)
  return await entriesOf(store, session, events, event)
}

async function entriesOf(
  store: Pick<DeviceStore, 'outcomesAfter'>,
  session: SessionId,
  events: readonly DurableEvent[],
  before: EventId,
): Promise<TranscriptEntry[]> {
  const ids = new Set<string>(events.map(({event}) => event.id))
  const calls = events.some(({event}) => event.kind === 'model.replied')
  const outcomes = calls ? await store.outcomesAfter(session, before, most.events) : []
  return transcriptOf([...events, ...outcomes]).filter(entry => ids.has(entry.id))
}

/** A page never starts in the middle of one event's entries. */
function firstOfEvent(entries: readonly TranscriptEntry[], from: number): number {
  let first = Math.max(0, from)
  while (first > 0 && entries[first - 1]?.id === entries[first]?.id) first -= 1
  return first
}
