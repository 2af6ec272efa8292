import type {LoopState} from '../loop/run-loop.ts'
import type {Divergence} from '../protocol/divergence.ts'
import {erasedSentence} from '../protocol/erasure.ts'
import {isStorageFault} from '../protocol/errors.ts'
import type {DeviceId, EventId, RunId} from '../protocol/ids.ts'
import type {OpenOperation} from '../protocol/open-operations.ts'
import {type LocalRecords, passportOf} from '../protocol/passport.ts'
import {type SessionState, sessionStatus} from '../protocol/session.ts'
import type {Connection, Erased, SessionListItem, SessionView} from '../protocol/session-view.ts'
import {textStart} from '../protocol/text.ts'
import {type DurableEvent, type NoticeEntry, type TranscriptEntry, transcriptOf} from '../protocol/transcript.ts'
import {keepEntries} from '../protocol/view-frame.ts'
import type {ErasedSession, SessionRecord} from '../storage/device-store.ts'
import {isSettled} from './is-settled.ts'

/** Limits of the events that a view is folded from. Earlier events are read with `history`. */
export const screen = {events: 400, bytes: 384 * 1024}
const shown = {entries: 100, characters: 16_000}

export type ViewParts = {
  device: DeviceId
  record: SessionRecord
  events: readonly DurableEvent[]
  /** Whether the log has more events before these. */
  earlier: boolean
  /** All local records, including those before the screen. [SYNC-2] */
  local: LocalRecords
  openOperations: OpenOperation[]
  divergence: Divergence | null
  /** Divergences about which the person has chosen: out of the way, and still in the record. */
  settled: ReadonlySet<EventId>
  setAside: number
  blobsOnlyHere: number
  syncFault: string | null
  loop: LoopState
  connection: Connection
  streaming: {run: RunId; text: string} | null
  erased: ErasedSession | null
  /** The nearest source of this branch that was erased. */
  erasedSource: ErasedSession | null
}

type TranscriptParts = Pick<
  ViewParts,
  'record' | 'events' | 'earlier' | 'local' | 'settled' | 'erased' | 'erasedSource'
>

export type Transcript = Pick<SessionView, 'entries' | 'earlier' | 'passport'>

/** The parts of a view that only the stored records determine. Entries equal to those of `before` keep their identity. */
export function buildTranscript(parts: TranscriptParts, before: readonly TranscriptEntry[] = []): Transcript {
  const {record, local} = parts
  const entries = entriesOf(parts)
  return {
    entries: keepEntries(before, entries.slice(-shown.entries).map(cutEntry)),
    earlier: !parts.erased && (parts.earlier || entries.length > shown.entries),
    passport: passportOf(record.current, local, record.confirmed.head),
  }
}

export function buildSessionView(parts: ViewParts & {transcript: Transcript}): SessionView {
  const {record, local, loop, connection, streaming, divergence, syncFault, blobsOnlyHere, transcript} = parts
  const {current} = record
  return {
    session: record.id,
    agent: current.agent ?? '',
    title: current.title,
    ...transcript,
    streaming,
    status: statusOf(current),
    waitingFor: loop.working ? null : (loop.waiting?.why ?? null),
    settled: isSettled(loop, connection.state),
    custody: custodyOf(current, parts.device),
    openOperations: parts.erased ? [] : parts.openOperations,
    closed: closedOf(record),
    pending: local.pending.length,
    blobsOnlyHere,
    rejected: local.rejected.length - parts.setAside,
    divergence,
    syncFault,
    head: record.confirmed.head,
    fault: loop.fault && {code: loop.fault.code, message: loop.fault.message},
    storageFault: loop.fault && isStorageFault(loop.fault) ? loop.fault.message : null,
    erased: parts.erased && erasedOf(parts.erased),
  }
}

/** A tombstone replaces an erased session, or is the first entry of a branch of one. [RET-2] */
function entriesOf({events, earlier, settled, erased, erasedSource}: TranscriptParts): TranscriptEntry[] {
  const entries = transcriptOf(events.filter(event => !isOutOfTheWay(event, settled)))
  if (erased) return [tombstone(erased, erasedSentence(erased))]
  if (!erasedSource || earlier) return entries
  return [tombstone(erasedSource, 'What this branch inherited was erased.'), ...entries]
}

/** Cuts a long text: every page would otherwise store, render and compare all of it. */
export function cutEntry(entry: TranscriptEntry): TranscriptEntry {
  if (entry.type === 'tool') return entry
  if (entry.type === 'notice') {
    const {detail} = entry
    if (detail === undefined || detail.length <= shown.characters) return entry
    return {...entry, detail: textStart(detail, shown.characters), cut: detail.length}
  }
  if (entry.text.length <= shown.characters) return entry
  return {...entry, text: textStart(entry.text, shown.characters), cut: entry.text.length}
}

function tombstone({erasure, at}: ErasedSession, text: string): NoticeEntry {
  return {type: 'notice', about: 'erased', id: erasure, at, text, durability: {status: 'device'}}
}

function erasedOf({at, why, unsent}: ErasedSession): Erased {
  return {at, why, unsent}
}

/** What the list shows of a session that was erased, until its user removes the data of this device. */
export function erasedItem(erased: ErasedSession): SessionListItem {
  return {
    id: erased.session,
    agent: '',
    title: null,
    excerpt: erasedSentence(erased),
    updatedAt: erased.at,
    pending: 0,
    status: 'idle',
    erased: erasedOf(erased),
  }
}

function isOutOfTheWay({durability}: DurableEvent, settled: ReadonlySet<EventId>): boolean {
  return durability.status === 'rejected' && durability.divergence !== undefined && settled.has(durability.divergence)
}

export function listItem(record: SessionRecord, pending: number): SessionListItem {
  const {id, current, excerpt, updatedAt} = record
  return {
    id,
    agent: current.agent ?? '',
    title: current.title,
    excerpt,
    updatedAt,
    pending,
    status: statusOf(current),
    erased: null,
  }
}

function statusOf(state: SessionState): SessionView['status'] {
  return state.run || state.closed ? sessionStatus(state) : 'idle'
}

function closedOf({current, confirmed}: SessionRecord): SessionView['closed'] {
  if (current.closed === null) return null
  return confirmed.closed === null ? 'device' : 'server'
}

function custodyOf(state: SessionState, device: DeviceId): SessionView['custody'] {
  if (!state.custody.holder) return 'nobody'
  return state.custody.holder === device ? 'here' : 'elsewhere'
}
