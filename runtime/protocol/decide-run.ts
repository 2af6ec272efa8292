import type {Event} from './event.ts'
import type {CallId} from './ids.ts'
import {jsonBytes, sameJson} from './json.ts'
import {refuseMigration} from './migration.ts'
import {hasEnded, resultOutcome} from './operation.ts'
import {type Refusal, refused} from './refusal.ts'
import {isActive, isRunTransition, type RunStatus, runTransitions} from './run.ts'
import {type CallState, type SessionState, sessionStatus} from './session.ts'
import {patchSlots} from './slots.ts'
import {limits} from './version.ts'

/** May this event of a run follow here, and may its holder write it? [RUN-1, CUS-1] */
export function refuseRunEvent(state: SessionState, event: Event): Refusal | null {
  if (!isRunTransition(event.kind)) return null
  const row = runTransitions[event.kind]
  const from: readonly RunStatus[] = row.from
  const starting = event.kind === 'run.started'
  // A person needs no custody, and what the server itself says is under no epoch.
  const held = row.owner !== 'user' && event.device !== null
  if (held && event.epoch === undefined)
    return refused(event, 'no epoch on a run event', row.owner, ['send the epoch held'])
  if (event.run === undefined) return refused(event, 'no run named', row.owner, ['name the run'])
  const met = starting && !isActive(state.run) ? 'new' : sessionStatus(state)
  if (!from.includes(met)) return refused(event, `a run that is ${met}`, row.owner, legalRunEvents(state))
  if (!starting && state.run?.id !== event.run) return refused(event, 'another run', row.owner, legalRunEvents(state))
  if (!starting && held && event.attempt !== state.run?.attempt) {
    return refused(event, `attempt ${state.run?.attempt}`, row.owner, legalRunEvents(state))
  }
  if (event.kind === 'run.migrated' && state.run) return refuseMigration(state, state.run, event)
  return refuseStep(state, event) ?? refuseCall(state, event)
}

/**
 * The steps of a run follow from each other: a view only when every call has its result, one reply to the step that
 * waits, an end only after a last word. A holder whose earlier events were refused cannot go on from them. [LOG-7]
 */
function refuseStep(state: SessionState, event: Event): Refusal | null {
  const step = state.run?.step ?? null
  switch (event.kind) {
    case 'step.prepared':
    case 'view.compacted':
    case 'run.completed': {
      const [open] = state.calls
      if (open) return refused(event, `call ${open.id} without a result`, 'loop', [`answer ${open.id}`])
      // Earlier builds end a run after a reply that is cut or empty.
      if (event.kind !== 'run.completed' || event.data.outcome !== 'finished' || step?.final || step?.flaw) return null
      return refused(event, 'a run whose model has not had its last word', 'loop', ['step.prepared'])
    }
    case 'view.refused':
      return step?.id === event.step && !step?.replied
        ? null
        : refused(event, 'no step under this id that waits for a reply', 'loop', ['step.prepared'])
    case 'model.replied':
      return step?.id === event.step && !step?.replied
        ? refuseNewCalls(state, event)
        : refused(event, 'no step under this id that waits for a reply', 'loop', ['step.prepared'])
    case 'slots.patched':
      return step && step.id === event.step
        ? refuseSlots(state, event)
        : refused(event, 'another step than the one under way', 'loop', legalRunEvents(state))
    default:
      return null
  }
}

/** Every checkpoint carries the slots, so that they stay small however many patches made them. [WRK-1] */
function refuseSlots(state: SessionState, event: Extract<Event, {kind: 'slots.patched'}>): Refusal | null {
  const bytes = jsonBytes(patchSlots(state.slots, event.data.patch))
  if (bytes <= limits.slotBytes) return null
  const legal = [`slots of at most ${limits.slotBytes} bytes`, 'remove keys by setting them to null']
  return {...refused(event, `slots that would be ${bytes} bytes`, 'loop', legal), code: 'bad_input'}
}

/**
 * A call id is taken while its call is open or an operation belongs to it. [LOG-7] Ids of earlier calls are checked by
 * the store: a list of them in this state would grow with the run.
 */
function refuseNewCalls(state: SessionState, event: Extract<Event, {kind: 'model.replied'}>): Refusal | null {
  const taken = new Set<CallId>()
  for (const {id} of state.calls) taken.add(id)
  for (const {call} of state.operations) taken.add(call)
  for (const part of event.data.content) {
    if (part.type !== 'call') continue
    if (taken.has(part.call)) return refused(event, `call ${part.call}, which was made before`, 'loop', ['a fresh id'])
    taken.add(part.call)
  }
  return null
}

function refuseCall(state: SessionState, event: Event): Refusal | null {
  if (event.kind !== 'tool.called' && event.kind !== 'tool.returned' && event.kind !== 'operation.proposed') return null
  const call = state.calls.find(open => open.id === event.data.call)
  if (call && event.kind === 'operation.proposed') return refuseProposal(state, event, call)
  if (call && event.kind === 'tool.returned') return refuseExternalResult(state, event, call)
  if (call) return null
  const legal = state.calls.map(open => `answer ${open.id}`)
  return refused(event, 'no open call under this id', 'loop', legal)
}

/** A correction that no step has seen voids what was proposed before it; what comes after it from an older view must not slip by. [RUN-4] */
function refuseProposal(
  state: SessionState,
  event: Extract<Event, {kind: 'operation.proposed'}>,
  call: CallState,
): Refusal | null {
  if (call.effect !== 'external' || call.tool !== event.data.tool || !sameJson(call.input, event.data.input)) {
    return refused(event, `a call of "${call.tool}" that is another`, 'loop', ['propose the call as the model made it'])
  }
  const rival = state.operations.find(operation => operation.call === event.data.call)
  if (rival) return refused(event, `operation ${rival.id} for the same call`, 'loop', ['wait for its outcome'])
  if (state.unanswered.length === 0) return null
  return refused(event, 'a newer instruction that no step has seen', 'loop', ['answer the call as superseded'])
}

/**
 * Only the server reports the result of an external call. The holder may repeat that result, or report that nothing was
 * proposed. [OP-2]
 */
function refuseExternalResult(
  state: SessionState,
  event: Extract<Event, {kind: 'tool.returned'}>,
  call: CallState,
): Refusal | null {
  if (call.effect !== 'external') return null
  const {outcome, output} = event.data
  const operation = state.operations.find(({call: id}) => id === call.id)
  if (operation && hasEnded(operation)) {
    const expected = resultOutcome(operation)
    if (outcome === expected && (expected !== 'ok' || sameJson(output, operation.outcome))) return null
    // A later run may abort the call of an earlier one when nothing was done. Earlier builds write only that.
    if (expected !== 'ok' && outcome === 'aborted' && call.run !== event.run) return null
    return refused(event, `operation ${operation.id}, which has ended otherwise`, 'operation service', [])
  }
  if (operation && (outcome !== 'aborted' || call.run === event.run))
    return refused(event, `operation ${operation.id}, which is ${operation.status}`, 'operation service', ['wait'])
  const invented = outcome === 'ok' || outcome === 'denied'
  return invented ? refused(event, 'an external call that the server has not answered', 'operation service', []) : null
}

/** The run events that the table allows now. */
function legalRunEvents(state: SessionState): string[] {
  const met = sessionStatus(state)
  const over = met === 'completed' || met === 'cancelled' || met === 'failed_final'
  const status = over ? 'new' : met
  return Object.entries(runTransitions)
    .filter(([, row]) => (row.from as readonly RunStatus[]).includes(status))
    .map(([kind]) => kind)
}
