import {type Consequence, decide} from '../../runtime/protocol/decide.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import {refusalError} from '../../runtime/protocol/refusal.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import {deviceSeqClash, type EventVerdict} from '../../runtime/protocol/wire.ts'
import {callsIn, deviceSeqKey, type Known} from '../storage/store.ts'
import {rejected} from './screen-event.ts'

/** `fault` is what a look at other records found wrong with the event. */
export type Candidate = {event: Event; hash: string; fault: HoldfastError | null}

/** The verdict an event has without being written, or what is to be written with it. */
export type Judgement = {verdict: EventVerdict} | {consequences: readonly Consequence[]}

/** May a device's event join this log? Pure: the state under the lock, and what the store knows of its identities. */
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
 * A device counts twice when its database was restored from an older copy. The rest of its batch waits too: taken now,
 * it would stand before what it follows. [LOG-2]
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

/** An identity names one thing for ever; whoever took it first keeps it. [ID-1, OP-3] */
function clashOf(known: Known, event: Event): string | null {
  if (event.kind === 'run.started' && event.run && known.runs.has(event.run)) return 'Another run already has this id.'
  const call = callsIn(event).find(id => known.calls.has(id))
  if (call) return `Another call already has the id ${call}.`
  if (event.kind === 'operation.proposed' && known.operations.has(event.data.operation)) {
    return 'Another operation already has this id.'
  }
  return null
}

/** Later events of the same batch are judged with this one among what is known. */
export function remember(known: Known, event: Event, seq: number, hash: string): void {
  known.events.set(event.id, {session: event.session, seq, hash})
  known.deviceSeqs.set(deviceSeqKey(event.device, event.deviceSeq), event.id)
  if (event.kind === 'run.started' && event.run) known.runs.add(event.run)
  for (const call of callsIn(event)) known.calls.add(call)
  if (event.kind === 'operation.proposed') known.operations.add(event.data.operation)
}
