import {refuseAssumption} from './custody.ts'
import {refuseRunEvent} from './decide-run.ts'
import type {Event} from './event.ts'
import type {RunId} from './ids.ts'
import {isOperationEvent, isVoidable, type OperationEvent, operationFault, operationTransitions} from './operation.ts'
import {type Refusal, refused} from './refusal.ts'
import {isActive, isRunTransition} from './run.ts'
import {type Message, policyOf, type SessionState, sessionStatus} from './session.ts'
import {isVisible} from './text.ts'

/** A server event that follows from admitting another: written in the same transaction, by the server only. */
export type Consequence = {
  kind: 'operation.voided'
  run: RunId
  data: Extract<Event, {kind: 'operation.voided'}>['data']
}

export type Verdict = {refusal: Refusal} | {refusal: null; consequences: Consequence[]}

/**
 * May this event be appended to a session in this state, and what follows from it? The device asks before it writes,
 * the server asks again before it accepts: same code, same answer. [RUN-1, RUN-2, RUN-4, CUS-1]
 */
export function decide(state: SessionState, event: Event): Verdict {
  const refusal = refuse(state, event)
  return refusal ? {refusal} : {refusal: null, consequences: consequencesOf(state, event)}
}

function refuse(state: SessionState, event: Event): Refusal | null {
  const opening = event.kind === 'session.opened' || event.kind === 'session.forked'
  if (opening !== (state.session === null)) {
    return opening
      ? refused(event, 'a session that is already open', 'user', ['append to it', 'open another under a new id'])
      : refused(event, 'a session that has not been opened', 'user', ['session.opened', 'session.forked'])
  }
  const late = refuseStaleEpoch(state, event) ?? refuseLateEvent(state, event)
  if (late) return late
  if (state.closed && isNewWork(event)) return refuseWhenClosed(event)
  if (event.kind === 'session.closed') return null
  if (event.kind === 'message.posted') return refuseMessage(state, event)
  if (event.kind === 'custody.assumed') return refuseAssumption(state, event)
  if (isRunTransition(event.kind)) return refuseRunEvent(state, event)
  if (isOperationEvent(event)) return refuseOperationTransition(state, event)
  return null
}

function isNewWork({kind}: Event): boolean {
  return kind === 'message.posted' || kind === 'run.started' || kind === 'session.closed'
}

function refuseWhenClosed(event: Event): Refusal {
  const owner = event.kind === 'run.started' ? 'loop' : 'user'
  return refused(event, 'a session that is closed', owner, ['fork it', 'open another session'])
}

function refuseMessage(state: SessionState, event: Message): Refusal | null {
  // Checked here and not in the schema, so that events stored by earlier builds stay readable.
  if (!isVisible(event.data.text))
    return {...refused(event, 'a text without visible characters', 'user', [visibleText]), code: 'bad_input'}
  const policy = policyOf(state, event.data)
  if (!isActive(state.run) || (policy !== 'reject' && policy !== 'fork')) return null
  const met = `a run that is ${sessionStatus(state)}, with policy ${policy}`
  const instead = policy === 'fork' ? 'post it to a branch of this session' : 'post it when the run has ended'
  return refused(event, met, 'user', [instead, 'post it with the policy steer, interrupt or queue'])
}

function refuseStaleEpoch(state: SessionState, event: Event): Refusal | null {
  const {holder, epoch} = state.custody
  if (event.device === null || event.epoch === undefined) return null
  if (event.epoch === epoch && event.device === holder) return null
  return {
    code: 'stale_epoch',
    asked: `${event.kind} under epoch ${event.epoch}`,
    met: `epoch ${epoch} held by ${holder === event.device ? 'this device' : 'another device'}`,
    owner: 'loop',
    legal: ['pull the session', 'claim custody'],
  }
}

/**
 * A device's events join the log in its own order. One that was refused stays refused once its device has gone on, even
 * if a copy of the request arrives when the state would allow it. [LOG-2, LOG-3]
 */
function refuseLateEvent(state: SessionState, event: Event): Refusal | null {
  if (event.device === null || event.deviceSeq === null) return null
  const last = state.written[event.device] ?? 0
  if (event.deviceSeq > last) return null
  const met = `event ${last} of the same device, which was written after it`
  return refused(event, met, 'control plane', ['append what is to be said now'])
}

function refuseOperationTransition(state: SessionState, event: OperationEvent): Refusal | null {
  const id = event.data.operation
  const operation = state.operations.find(open => open.id === id)
  const fault = operation ? operationFault(operation, event) : 'no open operation under this id'
  return fault === null ? null : refused(event, fault, operationTransitions[event.kind].owner, [])
}

const visibleText = 'a message with at least one visible character'

const voidReasons = {
  'message.posted': 'A newer instruction arrived.',
  'run.cancelled': 'The run was cancelled.',
  'session.closed': 'The session was closed.',
} as const

/** A correction and a cancel void what has not started yet; what has started is reported, not undone. [RUN-4, RUN-7] */
function consequencesOf(state: SessionState, event: Event): Consequence[] {
  const corrects = event.kind === 'message.posted' && policyOf(state, event.data) !== 'queue'
  if (!corrects && event.kind !== 'run.cancelled' && event.kind !== 'session.closed') return []
  const reason = voidReasons[event.kind]
  return state.operations
    .filter(isVoidable)
    .map(({id, run}) => ({kind: 'operation.voided', run, data: {operation: id, reason, because: event.id}}))
}
