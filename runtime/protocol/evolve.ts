import {evolveCalibration} from './calibration.ts'
import {evolveViewSize} from './compaction.ts'
import {evolveCustody} from './custody.ts'
import type {Event, LoggedEvent} from './event.ts'
import {evolveOperation, hasEnded, proposedOperation} from './operation.ts'
import {evolveRun, isActive, type RunState, startedRun} from './run.ts'
import {type CallState, type Message, policyOf, type SessionState} from './session.ts'
import {noSlots, patchSlots} from './slots.ts'

/** Folds one event in; total: an event that `decide` would refuse still folds to something, never throws. */
export function evolve(state: SessionState, event: LoggedEvent): SessionState {
  const head = Math.max(state.head, event.seq ?? 0)
  const written = writtenAfter(state, event)
  const worked =
    event.epoch === undefined || event.device === null ? state.worked : Math.max(state.worked, event.seq ?? 0)
  if ('unreadable' in event) {
    return {...state, head, written, worked, unreadable: state.unreadable ?? {event: event.id, why: event.unreadable}}
  }
  const custody = evolveCustody(state.custody, event)
  const view = evolveViewSize(state.view, event)
  const calibration = evolveCalibration(state.calibration, event)
  return settleEnded({...evolveReadable(state, event), head, written, worked, custody, view, calibration})
}

function writtenAfter({written}: SessionState, {device, deviceSeq}: LoggedEvent): SessionState['written'] {
  return device === null || deviceSeq === null ? written : {...written, [device]: deviceSeq}
}

function evolveReadable(state: SessionState, event: Event): SessionState {
  switch (event.kind) {
    case 'session.opened':
    case 'session.forked': {
      const {agent, policy, title} = event.data
      const forked = event.kind === 'session.forked' ? event.data : null
      const inherited = {forkedFrom: forked?.from ?? null, slots: forked?.slots ?? noSlots}
      return {...state, session: event.session, agent, policy, title: title ?? null, ...inherited}
    }
    case 'message.posted':
      return evolveMessage(state, event)
    case 'run.started':
      return event.run ? {...releaseQueue(state), run: startedRun(event, event.run)} : state
    case 'step.prepared': {
      const seen = new Set(event.data.manifest.answers)
      return {
        ...evolveOwnRun(state, event),
        unanswered: state.unanswered.filter(id => !seen.has(id)),
        interruptedBy: state.interruptedBy && seen.has(state.interruptedBy) ? null : state.interruptedBy,
      }
    }
    case 'model.replied':
      return {...evolveOwnRun(state, event), calls: [...state.calls, ...callsOf(state, event)]}
    case 'tool.called':
      return {
        ...evolveOwnRun(state, event),
        calls: state.calls.map(call => (call.id === event.data.call ? {...call, called: true} : call)),
      }
    case 'tool.returned':
      return {...evolveOwnRun(state, event), calls: state.calls.filter(call => call.id !== event.data.call)}
    case 'slots.patched':
      return {...evolveOwnRun(state, event), slots: patchSlots(state.slots, event.data.patch)}
    case 'run.completed': {
      // Stopped before its first step, a run for the same messages would stop there again, without end.
      const unseen = state.run?.steps === 0 ? state.unanswered.length : 0
      return releaseQueue(evolveOwnRun(state, event, {unseen}))
    }
    case 'session.closed':
      return {...state, closed: event.id, run: state.run && closedRun(state.run)}
    case 'run.failed':
    case 'run.alerted':
    case 'run.cancelled':
      return afterEnd(evolveOwnRun(state, event, {unseen: state.unanswered.length}))
    case 'operation.proposed':
      return event.run
        ? {
            ...evolveOwnRun(state, event),
            operations: [...state.operations, proposedOperation(event, event.run)],
          }
        : state
    default:
      return evolveOperations(evolveOwnRun(state, event), event)
  }
}

function evolveMessage(state: SessionState, event: Message): SessionState {
  const policy = policyOf(state, event.data)
  if (isActive(state.run) && policy === 'queue') return {...state, queued: [...state.queued, event.id]}
  const interruptedBy = isActive(state.run) && policy === 'interrupt' ? event.id : state.interruptedBy
  return {...state, unanswered: [...state.unanswered, event.id], interruptedBy}
}

/** A run that may still go on keeps its queue waiting. */
function afterEnd(state: SessionState): SessionState {
  return mayGoOn(state.run) ? state : releaseQueue(state)
}

function mayGoOn(run: RunState | null): boolean {
  return isActive(run) || run?.ended === 'failed_retryable' || run?.ended === 'alerted'
}

/** What was over stays as it ended. */
function closedRun(run: RunState): RunState {
  return mayGoOn(run) ? {...run, ended: 'closed'} : run
}

function releaseQueue(state: SessionState): SessionState {
  if (state.queued.length === 0 && state.interruptedBy === null) return state
  return {...state, unanswered: [...state.unanswered, ...state.queued], queued: [], interruptedBy: null}
}

function evolveOwnRun(state: SessionState, event: Event, also: Partial<RunState> = {}): SessionState {
  return state.run && event.run === state.run.id ? {...state, run: {...evolveRun(state.run, event), ...also}} : state
}

function evolveOperations(state: SessionState, event: Event): SessionState {
  if (!('operation' in event.data)) return state
  const id = event.data.operation
  return {
    ...state,
    operations: state.operations.map(operation =>
      operation.id === id ? evolveOperation(operation, event) : operation,
    ),
  }
}

function callsOf(state: SessionState, event: Extract<Event, {kind: 'model.replied'}>): CallState[] {
  const pinned = new Map(state.run?.pin.tools.map(tool => [tool.name, tool.effect]))
  let place = state.run?.calls ?? 0
  return event.data.content.flatMap(part =>
    part.type === 'call' && event.run
      ? {
          id: part.call,
          run: event.run,
          tool: part.tool,
          effect: pinned.get(part.tool) ?? 'unknown',
          input: part.input,
          fault: part.fault ?? null,
          place: place++,
          called: false,
        }
      : [],
  )
}

/** An operation leaves the control state once it has ended and its call has its result; the ledger keeps it for ever. */
function settleEnded(state: SessionState): SessionState {
  const open = new Set(state.calls.map(call => call.id))
  const operations = state.operations.filter(operation => !hasEnded(operation) || open.has(operation.call))
  return operations.length === state.operations.length ? state : {...state, operations}
}
