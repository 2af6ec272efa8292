import type {LoopState} from '../loop/run-loop.ts'
import type {Divergence} from '../protocol/divergence.ts'
import type {DeviceId, EventId, RunId} from '../protocol/ids.ts'
import {type LocalRecords, passportOf} from '../protocol/passport.ts'
import {runStatus} from '../protocol/run.ts'
import type {SessionState} from '../protocol/session.ts'
import type {Connection, SessionListItem, SessionView} from '../protocol/session-view.ts'
import {type DurableEvent, transcriptOf} from '../protocol/transcript.ts'
import type {SessionRecord} from '../storage/device-store.ts'
import {isSettled} from './is-settled.ts'

/** Events that one screen is folded from; the rest is in the log and counted as `earlier`. */
export const screenEvents = 400

export type ViewParts = {
  device: DeviceId
  record: SessionRecord
  events: readonly DurableEvent[]
  /** All of them, also those above the screen. [SYNC-2] */
  local: LocalRecords
  divergence: Divergence | null
  /** Divergences about which the person has chosen: out of the way, and still in the record. */
  settled: ReadonlySet<EventId>
  setAside: number
  syncFault: string | null
  loop: LoopState
  connection: Connection
  streaming: {run: RunId; text: string} | null
}

export function buildSessionView(parts: ViewParts): SessionView {
  const {record, local, loop, connection, streaming, divergence, syncFault} = parts
  const {current} = record
  return {
    session: record.id,
    agent: current.agent ?? '',
    title: current.title,
    entries: transcriptOf(parts.events.filter(event => !isOutOfTheWay(event, parts.settled))),
    earlier: parts.events.length >= screenEvents,
    streaming,
    status: statusOf(current),
    waitingFor: loop.working ? null : (loop.waiting?.why ?? null),
    settled: isSettled(loop, connection.state),
    custody: custodyOf(current, parts.device),
    passport: passportOf(current, local, record.confirmed.head),
    pending: local.pending.length,
    rejected: local.rejected.length - parts.setAside,
    divergence,
    syncFault,
    head: record.confirmed.head,
    storageFault: loop.fault ? loop.fault.message : null,
  }
}

function isOutOfTheWay({durability}: DurableEvent, settled: ReadonlySet<EventId>): boolean {
  return durability.status === 'rejected' && durability.divergence !== undefined && settled.has(durability.divergence)
}

export function listItem(record: SessionRecord, pending: number): SessionListItem {
  const {id, current, excerpt, updatedAt} = record
  return {id, agent: current.agent ?? '', title: current.title, excerpt, updatedAt, pending, status: statusOf(current)}
}

function statusOf(state: SessionState): SessionView['status'] {
  return state.run ? runStatus(state.run, state.operations) : 'idle'
}

function custodyOf(state: SessionState, device: DeviceId): SessionView['custody'] {
  if (!state.custody.holder) return 'nobody'
  return state.custody.holder === device ? 'here' : 'elsewhere'
}
