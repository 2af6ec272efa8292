import {type Consequence, decide} from '../../runtime/protocol/decide.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import {refusalError} from '../../runtime/protocol/refusal.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import {deviceSeqClash, type EventVerdict} from '../../runtime/protocol/wire.ts'
import {callsIn, deviceSeqKey, type Known} from '../storage/store.ts'
import {rejected} from './screen-event.ts'

/** `fault` is the error found by checks against other records. */
export type Candidate = {event: Event; hash: string; fault: HoldfastError | null}

/** The final verdict without a write, or the consequences to write with the event. */
export type Judgement = {verdict: EventVerdict} | {consequences: readonly Consequence[]}

/**
 * Decides whether a device's event may join this log. Pure: takes the state under the lock and the known identities.
 */
export function judgeEvent(state: SessionState, known: Known, {event, hash, fault}: Candidate): Judgement {
  const first = known.events.get(event.id)
  if (first?.hash === hash) return {verdict: {status: 'duplicate', id: event.id, seq: first.seq}}
  if (!first && isSetBack(known, event)) return {verdict: rejected(event.id, deviceSeqTaken(event))}
  const clash = first ? 'Another event already has this id.' : clashOf(known, event)
  if (clash) return {verdict: rejected(event.id, new HoldfastError('conflict', clash))}
  if (fault) return {verdict: rejected(event.id, fault)}
  const verdict = decide(state, event)
  if (verdict.refusal) return {verdict: rejected(event.id, refusalError(verdict.refusal))}
  return {consequences: verdict.consequences}
}

/**
 * True if the device was restored from an older copy and reuses sequence numbers. The rest of its batch is refused
 * too: accepted now, those events would precede the ones they follow. [LOG-2]
 */
function isSetBack({deviceSeqs, setBack}: Known, {device, deviceSeq}: Event): boolean {
  if (device === null) return false
  if (deviceSeqs.has(deviceSeqKey(device, deviceSeq))) setBack.add(device)
  return setBack.has(device)
}

function deviceSeqTaken({deviceSeq}: Event): HoldfastError {
  return new HoldfastError('conflict', `Another event of this device already has deviceSeq ${deviceSeq}.`, {
    details: {clash: deviceSeqClash},
  })
}

/** An id identifies one thing forever; its first use keeps it. [ID-1, OP-3] */
function clashOf(known: Known, event: Event): string | null {
  if (event.kind === 'run.started' && event.run && known.runs.has(event.run)) return 'Another run already has this id.'
  const call = callsIn(event).find(id => known.calls.has(id))
  if (call) return `Another call already has the id ${call}.`
  if (event.kind === 'operation.proposed' && known.operations.has(event.data.operation)) {
    return 'Another operation already has this id.'
  }
  return null
}

/** Adds an accepted event to the known identities, for the later events of the same batch. */
export function remember(known: Known, event: Event, seq: number, hash: string): void {
  known.events.set(event.id, {session: event.session, seq, hash})
  known.deviceSeqs.set(deviceSeqKey(event.device, event.deviceSeq), event.id)
  if (event.kind === 'run.started' && event.run) known.runs.add(event.run)
  for (const call of callsIn(event)) known.calls.add(call)
  if (event.kind === 'operation.proposed') known.operations.add(event.data.operation)
}
