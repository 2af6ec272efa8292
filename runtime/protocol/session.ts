import * as z from 'zod'
import {type CustodyState, evolveCustody, initialCustody} from './custody.ts'
import type {Event, LoggedEvent} from './event.ts'
import {type CallId, type DeviceId, type EventId, type RunId, type SessionId, sessionIdSchema} from './ids.ts'
import {type Json, sameJson} from './json.ts'
import {
  evolveOperation,
  hasEnded,
  isOperationEvent,
  isVoidable,
  type OperationEvent,
  type OperationState,
  operationFault,
  operationTransitions,
  proposedOperation,
} from './operation.ts'
import type {Refusal} from './refusal.ts'
import {
  evolveRun,
  isActive,
  isRunTransition,
  type RunState,
  type RunStatus,
  runPersonKinds,
  runStatus,
  runTransitions,
  startedRun,
} from './run.ts'
import type {Effect} from './tool.ts'
import {limits} from './version.ts'

/**
 * What a message does that arrives while a run is active [RUN-3]:
 * `steer` the next step sees it, and operations that have not started are void;
 * `interrupt` as steer, and the model call and the tools under way are stopped for it;
 * `queue` it waits, unseen, until the run has ended, and then starts the next one;
 * `fork` it goes to a branch of the session, and this run goes on undisturbed;
 * `reject` it is refused while the run is active.
 */
export const busyPolicySchema = z.enum(['steer', 'interrupt', 'queue', 'fork', 'reject'])
export type BusyPolicy = z.infer<typeof busyPolicySchema>

const title = z.string().min(1).max(200)

export const sessionKinds = {
  'session.opened': z.strictObject({
    agent: z.string().min(1).max(100),
    policy: busyPolicySchema,
    title: title.optional(),
  }),
  'session.forked': z.strictObject({
    agent: z.string().min(1).max(100),
    policy: busyPolicySchema,
    title: title.optional(),
    from: z.strictObject({session: sessionIdSchema, seq: z.int().positive()}),
  }),
  'message.posted': z.strictObject({
    text: z
      .string()
      .min(1, 'expected a message of at least one character')
      .max(limits.messageCharacters, `expected at most ${limits.messageCharacters} characters`),
    /** Overrides the session's policy for this message. */
    policy: busyPolicySchema.optional(),
  }),
  ...runPersonKinds,
}

export type CallState = {
  id: CallId
  run: RunId
  tool: string
  effect: Effect | 'unknown'
  input: Json
  fault: string | null
  /** The intent is recorded: the effect may have been tried. */
  called: boolean
}

/**
 * Control state: everything that decides what may happen next, and nothing else. Small however long the transcript,
 * folded as events commit and stored beside the log on both sides.
 */
export type SessionState = {
  session: SessionId | null
  agent: string | null
  policy: BusyPolicy
  title: string | null
  forkedFrom: {session: SessionId; seq: number} | null
  /** The last confirmed event folded in; 0 for none. */
  head: number
  custody: CustodyState
  /** The last event of each device: what it wrote before that can no longer be appended. */
  written: Readonly<Record<DeviceId, number>>
  /** The latest run, active or not. */
  run: RunState | null
  /** Calls that have no result yet, oldest first, of whichever run. [LOG-7] */
  calls: CallState[]
  /** Operations whose call has no result yet, or that have not ended. */
  operations: OperationState[]
  /** Messages that no step has seen yet, oldest first. */
  unanswered: EventId[]
  /** Messages that wait for the active run to end before any step may see them. [RUN-3] */
  queued: EventId[]
  /** The newest message that wants the step under way stopped for it; null once a step has seen it. */
  interruptedBy: EventId | null
  unreadable: {event: EventId; why: string} | null
}

export const initialSession: SessionState = {
  session: null,
  agent: null,
  policy: 'steer',
  title: null,
  forkedFrom: null,
  head: 0,
  custody: initialCustody,
  written: {},
  run: null,
  calls: [],
  operations: [],
  unanswered: [],
  queued: [],
  interruptedBy: null,
  unreadable: null,
}

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
  if (event.kind === 'message.posted') return refuseMessage(state, event)
  if (isRunTransition(event.kind)) return refuseRunTransition(state, event)
  if (isOperationEvent(event)) return refuseOperationTransition(state, event)
  return null
}

type Message = Extract<Event, {kind: 'message.posted'}>

/** What this message does if it finds the run active; an inactive session simply takes it. */
export function policyOf(state: SessionState, message: Pick<Message['data'], 'policy'>): BusyPolicy {
  return message.policy ?? state.policy
}

function refuseMessage(state: SessionState, event: Message): Refusal | null {
  const policy = policyOf(state, event.data)
  if (!isActive(state.run) || (policy !== 'reject' && policy !== 'fork')) return null
  const met = `a run that is ${runStatus(state.run, state.operations)}, with policy ${policy}`
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

/** A run event under custody that has moved on: it can never be confirmed, so its device goes on without it. [CUS-1] */
export function isFenced({custody}: SessionState, event: LoggedEvent): boolean {
  if (event.epoch === undefined || event.device === null) return false
  return event.epoch < custody.epoch || (event.epoch === custody.epoch && event.device !== custody.holder)
}

function refuseRunTransition(state: SessionState, event: Event): Refusal | null {
  if (!isRunTransition(event.kind)) return null
  const row = runTransitions[event.kind]
  const from: readonly RunStatus[] = row.from
  const starting = event.kind === 'run.started'
  const byUser = row.owner === 'user'
  if (!byUser && event.epoch === undefined)
    return refused(event, 'no epoch on a run event', row.owner, ['send the epoch held'])
  if (event.run === undefined) return refused(event, 'no run named', row.owner, ['name the run'])
  const met = starting && !isActive(state.run) ? 'new' : runStatus(state.run, state.operations)
  if (!from.includes(met)) return refused(event, `a run that is ${met}`, row.owner, legalRunEvents(state))
  if (!starting && state.run?.id !== event.run) return refused(event, 'another run', row.owner, legalRunEvents(state))
  if (!starting && !byUser && event.attempt !== state.run?.attempt) {
    return refused(event, `attempt ${state.run?.attempt}`, row.owner, legalRunEvents(state))
  }
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
    case 'run.completed': {
      const [open] = state.calls
      if (open) return refused(event, `call ${open.id} without a result`, 'loop', [`answer ${open.id}`])
      if (event.kind === 'step.prepared' || event.data.outcome !== 'finished' || step?.final) return null
      return refused(event, 'a run whose model has not had its last word', 'loop', ['step.prepared'])
    }
    case 'model.replied':
      return step?.id === event.step && !step?.replied
        ? refuseNewCalls(state, event)
        : refused(event, 'no step under this id that waits for a reply', 'loop', ['step.prepared'])
    default:
      return null
  }
}

/** A call id names one call: an earlier one of the run, or one that an operation still belongs to, keeps it. [LOG-7] */
function refuseNewCalls(state: SessionState, event: Extract<Event, {kind: 'model.replied'}>): Refusal | null {
  const taken = new Set<CallId>(state.run?.calls)
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
  if (call) return event.kind === 'operation.proposed' ? refuseProposal(state, event, call) : null
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

function refuseOperationTransition(state: SessionState, event: OperationEvent): Refusal | null {
  const id = event.data.operation
  const operation = state.operations.find(open => open.id === id)
  const fault = operation ? operationFault(operation, event) : 'no open operation under this id'
  return fault === null ? null : refused(event, fault, operationTransitions[event.kind].owner, [])
}

function refused(event: Event, met: string, owner: Refusal['owner'], legal: string[]): Refusal {
  return {code: 'refused', asked: event.kind, met, owner, legal}
}

/** The run events that the table allows now, for refusals and the passport. */
export function legalRunEvents(state: SessionState): string[] {
  const met = runStatus(state.run, state.operations)
  const over = met === 'completed' || met === 'cancelled' || met === 'failed_final'
  const status = over ? 'new' : met
  return Object.entries(runTransitions)
    .filter(([, row]) => (row.from as readonly RunStatus[]).includes(status))
    .map(([kind]) => kind)
}

/** A correction and a cancel void what has not started yet; what has started is reported, not undone. [RUN-4, RUN-7] */
function consequencesOf(state: SessionState, event: Event): Consequence[] {
  const corrects = event.kind === 'message.posted' && policyOf(state, event.data) !== 'queue'
  if (!corrects && event.kind !== 'run.cancelled') return []
  const reason = event.kind === 'run.cancelled' ? 'The run was cancelled.' : 'A newer instruction arrived.'
  return state.operations
    .filter(isVoidable)
    .map(({id, run}) => ({kind: 'operation.voided', run, data: {operation: id, reason, because: event.id}}))
}

/** Folds one event in; total: an event that `decide` would refuse still folds to something, never throws. */
export function evolve(state: SessionState, event: LoggedEvent): SessionState {
  const head = Math.max(state.head, event.seq ?? 0)
  const written = writtenAfter(state, event)
  if ('unreadable' in event) {
    return {...state, head, written, unreadable: state.unreadable ?? {event: event.id, why: event.unreadable}}
  }
  return settleEnded({...evolveReadable(state, event), head, written, custody: evolveCustody(state.custody, event)})
}

function writtenAfter({written}: SessionState, {device, deviceSeq}: LoggedEvent): SessionState['written'] {
  return device === null || deviceSeq === null ? written : {...written, [device]: deviceSeq}
}

function evolveReadable(state: SessionState, event: Event): SessionState {
  switch (event.kind) {
    case 'session.opened':
    case 'session.forked': {
      const {agent, policy, title} = event.data
      const forkedFrom = event.kind === 'session.forked' ? event.data.from : null
      return {...state, session: event.session, agent, policy, title: title ?? null, forkedFrom}
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
      return {...state, calls: state.calls.map(call => (call.id === event.data.call ? {...call, called: true} : call))}
    case 'tool.returned':
      return {...evolveOwnRun(state, event), calls: state.calls.filter(call => call.id !== event.data.call)}
    case 'run.completed':
      return releaseQueue(evolveOwnRun(state, event))
    case 'run.failed':
    case 'run.cancelled':
      return afterEnd(evolveOwnRun(state, event, {unseen: state.unanswered.length}))
    case 'operation.proposed':
      return event.run ? {...state, operations: [...state.operations, proposedOperation(event, event.run)]} : state
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

/** A run that may still be retried keeps its queue waiting. */
function afterEnd(state: SessionState): SessionState {
  return state.run?.ended === 'failed_retryable' || isActive(state.run) ? state : releaseQueue(state)
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
  return event.data.content.flatMap(part =>
    part.type === 'call' && event.run
      ? {
          id: part.call,
          run: event.run,
          tool: part.tool,
          effect: pinned.get(part.tool) ?? 'unknown',
          input: part.input,
          fault: part.fault ?? null,
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
