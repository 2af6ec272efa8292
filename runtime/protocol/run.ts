import * as z from 'zod'
import {heldBlobsSchema} from './blob.ts'
import {runUsageSchema} from './budget.ts'
import type {Event, Kind} from './event.ts'
import {callIdSchema, type DeviceId, deviceIdSchema, type EventId, type RunId, type StepId} from './ids.ts'
import {jsonBytes, jsonObjectSchema, jsonSchema} from './json.ts'
import {manifestSchema} from './manifest.ts'
import {hasEnded, type OperationState} from './operation.ts'
import {defaultContinuations, type Pin, pinnedVersionSchema, pinSchema} from './pin.ts'
import type {Refusal} from './refusal.ts'
import {flawOf, type ReplyFlaw} from './reply-flaw.ts'
import {type Basis, basisSchema, sha256Schema} from './tool.ts'
import {limits} from './version.ts'

export {type Budgets, type Pin, pinSchema} from './pin.ts'

export const usageSchema = z.strictObject({
  inputTokens: z.int().nonnegative().nullable(),
  outputTokens: z.int().nonnegative().nullable(),
  /** Input tokens that the provider read from its cache, included in `inputTokens`. */
  cachedTokens: z.int().nonnegative().optional(),
})

/** A call as the model made it; `fault` says why its input cannot be used, so that the model can mend it. [OP-7] */
export const toolCallSchema = z.strictObject({
  call: callIdSchema,
  /** The provider's own name for the call: only echoed back to it, never a key of ours. */
  providerCall: z.string().max(500),
  tool: z.string().min(1).max(100),
  input: jsonSchema,
  fault: z.string().max(2000).optional(),
  providerMetadata: jsonObjectSchema.optional(),
})

const replyPartSchema = z.discriminatedUnion('type', [
  z.strictObject({type: z.literal('text'), text: z.string(), providerMetadata: jsonObjectSchema.optional()}),
  z.strictObject({type: z.literal('reasoning'), text: z.string(), providerMetadata: jsonObjectSchema.optional()}),
  z.strictObject({type: z.literal('call'), ...toolCallSchema.shape}),
  /** Any other part of a provider's reply, unchanged: a source, a file, a call of the provider's own tools. */
  z.strictObject({
    type: z.literal('opaque'),
    /** The part's type in the provider specification. */
    kind: z.string().min(1).max(100),
    value: jsonObjectSchema,
    providerMetadata: jsonObjectSchema.optional(),
  }),
])
export type ReplyPart = z.infer<typeof replyPartSchema>

/** Milliseconds since 1970. */
const sleepTime = z.number().nonnegative()
const sleepReason = z.string().max(500)
export const sleepSchema = z.strictObject({until: sleepTime, why: sleepReason})
const boundWords = z.string().min(1).max(100)

export const toolOutcomes = ['ok', 'error', 'denied', 'aborted', 'superseded'] as const

/** Where a run stood when somebody went on with it: the record, never what the holder before said of it. [RUN-8] */
export const resumedFromSchema = z.strictObject({
  /** The last event that the server had confirmed to whoever goes on. */
  seq: z.int().nonnegative(),
  holder: deviceIdSchema.nullable(),
  epoch: z.int().positive(),
})
export type ResumedFrom = z.infer<typeof resumedFromSchema>

export const runKinds = {
  'run.started': z.strictObject({pin: pinSchema}),
  /** A new holder, or a new process of the same one, goes on; `changed` names facts that moved under open calls. */
  'run.resumed': z.strictObject({from: resumedFromSchema, changed: z.array(z.string().max(500)).max(200)}),
  'step.prepared': z.strictObject({number: z.int().positive(), manifest: manifestSchema}),
  /** A reply and every call in it are one event, so that no crash can keep the one without the others. [LOG-6] */
  'model.replied': z.strictObject({
    content: z.array(replyPartSchema).max(500),
    finish: z.enum(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other']),
    usage: usageSchema,
    /** Set when the runtime cut the reply: it was larger than an event may be, or took longer than a call may. */
    cut: z.enum(['size', 'time']).optional(),
    /** The whole text of a reply whose parts hold only its beginning. [LOG-5] */
    blobs: heldBlobsSchema.optional(),
  }),
  'tool.called': z.strictObject({call: callIdSchema}),
  'tool.returned': z.strictObject({
    call: callIdSchema,
    outcome: z.enum(toolOutcomes),
    output: jsonSchema.refine(
      output => jsonBytes(output) <= limits.valueBytes,
      `expected at most ${limits.valueBytes} bytes; a larger value is a blob`,
    ),
    /** The bytes that this result holds; its output names them where they belong. [LOG-5] */
    blobs: heldBlobsSchema.optional(),
    /** Versions of the facts that this call read. */
    basis: basisSchema.optional(),
    /** The tool asks that the run sleeps once every call of the step has its result. */
    sleep: sleepSchema.optional(),
  }),
  'run.completed': z.strictObject({
    outcome: z.enum(['finished', 'partial']),
    bound: boundWords.optional(),
    usage: runUsageSchema.optional(),
  }),
  /** A bound was hit and the pin says that a person decides whether there is more to spend. [BUD-2] */
  'run.alerted': z.strictObject({bound: boundWords, usage: runUsageSchema}),
  'run.slept': z.strictObject({until: sleepTime, why: sleepReason, cause: z.enum(['tool', 'provider'])}),
  /** Owned by the control plane: the holder's own for time and messages, the server for what came from outside. */
  'run.woken': z.strictObject({by: z.enum(['time', 'message', 'outside']), note: z.string().max(500).optional()}),
  'run.failed': z.strictObject({code: z.string().max(50), message: z.string().max(2000), retryable: z.boolean()}),
}

/** Transitions that a person owns: any device of the subject may write them, without custody. */
export const runPersonKinds = {
  'run.cancelled': z.strictObject({
    reason: z
      .string()
      .max(limits.reasonCharacters, `expected at most ${limits.reasonCharacters} characters`)
      .optional(),
  }),
  'run.retried': z.strictObject({}),
  /** One more budget for a run that was stopped at a bound. */
  'run.extended': z.strictObject({}),
  /** Moves the run to another version; `checked` names what each open input was found valid under. [PIN-3] */
  'run.migrated': z.strictObject({
    to: pinnedVersionSchema,
    checked: z.array(z.strictObject({call: callIdSchema, hash: sha256Schema})).max(500),
    reason: z.string().min(1).max(500),
  }),
}

export const runStatuses = [
  'new',
  'running',
  'waiting_for_tool',
  'waiting_for_approval',
  'waiting_for_wake',
  'failed_retryable',
  'retrying',
  'failed_final',
  'alerted',
  'completed',
  'cancelled',
  'closed',
] as const
export type RunStatus = (typeof runStatuses)[number]

export type RunState = {
  id: RunId
  attempt: number
  pin: Pin
  /** How the run ended, or null while it has not. */
  ended: 'completed' | 'cancelled' | 'failed_retryable' | 'failed_final' | 'alerted' | 'closed' | null
  /** Retried, and the new attempt has not written anything yet. */
  retrying: boolean
  /** Budgets added to the pinned one. */
  extensions: number
  /** A tool or the provider wants the run to sleep, or it sleeps; null otherwise. */
  rest: Rest | null
  /** Pauses in a row that the provider asked for. */
  pauses: number
  /** Consecutive replies that were cut or empty. Earlier builds did not count them. */
  flawed?: number
  /** Milliseconds of work that the holders measured. No two clocks are compared. [BUD-3] */
  workedMs: number
  startedBy: EventId
  /**
   * The device that worked on the run last, and the event it resumed from; null while custody has not moved. [RUN-8]
   */
  worker: {holder: DeviceId | null; epoch: number}
  resumedFrom: ResumedFrom | null
  /** Messages that no step had seen when the run failed, was cancelled or stopped before its first step: they alone start no other. */
  unseen: number
  steps: number
  /** The step under way, and whether its model call has been answered; null before the first. */
  step: {id: StepId; prepared: EventId; replied: boolean; final: boolean; flaw?: ReplyFlaw} | null
  /** Number of calls that the run has made. Only a count, because control state is rewritten with every event. */
  calls: number
  /** Versions of the newest 200 facts that the run has read: the basis of the operations it proposes. */
  basis: Basis
  usage: {inputTokens: number; outputTokens: number; unreported: number; cachedTokens?: number}
}

/**
 * `forMs`: maximum length of the rest on the clock of the device that wrote it. Another device's clock may be far off.
 */
export type Rest = {asleep: boolean; until: number; why: string; forMs?: number}

type Row = {from: readonly RunStatus[]; owner: Refusal['owner']; to: readonly RunStatus[]}
const working = ['running', 'retrying'] as const
const active = [...working, 'waiting_for_tool', 'waiting_for_approval'] as const
const worked = ['running', 'waiting_for_tool', 'waiting_for_approval'] as const
/** What a person can still cancel, migrate or close. */
const open = [...active, 'waiting_for_wake', 'failed_retryable', 'alerted'] as const

/** RUN-1: the whole table. What is not in it is refused by name. */
export const runTransitions = {
  'run.started': {from: ['new'], owner: 'loop', to: ['running']},
  'run.resumed': {from: [...active, 'waiting_for_wake'], owner: 'loop', to: [...worked, 'waiting_for_wake']},
  'step.prepared': {from: working, owner: 'loop', to: ['running']},
  'model.replied': {from: working, owner: 'loop', to: ['running']},
  'tool.called': {from: active, owner: 'loop', to: worked},
  'tool.returned': {from: active, owner: 'loop', to: worked},
  'operation.proposed': {from: active, owner: 'loop', to: ['waiting_for_tool', 'waiting_for_approval']},
  'slots.patched': {from: active, owner: 'loop', to: worked},
  'view.compacted': {from: working, owner: 'loop', to: ['running']},
  'view.refused': {from: working, owner: 'loop', to: ['running']},
  'run.slept': {from: working, owner: 'loop', to: ['waiting_for_wake']},
  'run.woken': {from: ['waiting_for_wake'], owner: 'control plane', to: ['running']},
  'run.completed': {from: working, owner: 'loop', to: ['completed']},
  'run.failed': {from: active, owner: 'loop', to: ['failed_retryable', 'failed_final']},
  'run.alerted': {from: active, owner: 'loop', to: ['alerted']},
  'run.cancelled': {from: open, owner: 'user', to: ['cancelled']},
  'run.retried': {
    from: ['failed_retryable'],
    owner: 'user',
    to: ['retrying', 'waiting_for_tool', 'waiting_for_approval'],
  },
  'run.extended': {from: ['alerted'], owner: 'user', to: worked},
  'run.migrated': {from: open, owner: 'user', to: open},
  'session.closed': {from: runStatuses.filter(status => status !== 'closed'), owner: 'user', to: ['closed']},
} as const satisfies Partial<Record<Kind, Row>>
export type RunTransition = keyof typeof runTransitions

export function isRunTransition(kind: string): kind is RunTransition {
  return Object.hasOwn(runTransitions, kind)
}

/** Derived, never stored: an ended run is what it ended as; a live one waits for whatever its operations wait for. */
export function runStatus(run: RunState | null, operations: readonly OperationState[]): RunStatus {
  if (!run) return 'new'
  if (run.ended) return run.ended
  const open = operations.filter(operation => operation.run === run.id && !hasEnded(operation))
  if (open.some(operation => operation.status === 'awaiting_approval')) return 'waiting_for_approval'
  if (open.length > 0) return 'waiting_for_tool'
  if (run.rest?.asleep) return 'waiting_for_wake'
  return run.retrying ? 'retrying' : 'running'
}

export function isActive(run: RunState | null): boolean {
  return run !== null && run.ended === null
}

export function startedRun(event: Extract<Event, {kind: 'run.started'}>, id: RunId): RunState {
  return {
    id,
    attempt: 1,
    pin: event.data.pin,
    ended: null,
    retrying: false,
    extensions: 0,
    rest: null,
    pauses: 0,
    workedMs: event.workMs ?? 0,
    startedBy: event.id,
    worker: {holder: event.device, epoch: event.epoch ?? 1},
    resumedFrom: null,
    unseen: 0,
    steps: 0,
    step: null,
    calls: 0,
    basis: {},
    usage: {inputTokens: 0, outputTokens: 0, unreported: 0},
  }
}

export function evolveRun(state: RunState, event: Event): RunState {
  const next = advance({...state, workedMs: state.workedMs + (event.workMs ?? 0)}, event)
  const written = event.attempt === state.attempt && next.retrying
  return written ? {...next, retrying: false} : next
}

function advance(state: RunState, event: Event): RunState {
  switch (event.kind) {
    case 'run.resumed':
      return {...state, worker: {holder: event.device, epoch: event.epoch ?? 1}, resumedFrom: event.data.from}
    case 'step.prepared': {
      if (!event.step) return state
      const step = {id: event.step, prepared: event.id, replied: false, final: false}
      return {...state, steps: state.steps + 1, step}
    }
    case 'model.replied': {
      if (!state.step) return state
      const calls = event.data.content.flatMap(part => (part.type === 'call' ? part.call : []))
      const flaw = flawOf(event.data)
      const flawed = flaw === null ? 0 : (state.flawed ?? 0) + 1
      const final = calls.length === 0 && (event.data.cut === 'size' || !isContinued(flaw, flawed, state.pin))
      return {
        ...state,
        flawed,
        step: {...state.step, replied: true, final, ...(flaw && {flaw})},
        calls: state.calls + calls.length,
        usage: addUsage(state.usage, event.data.usage),
        pauses: 0,
      }
    }
    case 'tool.returned': {
      const {basis, sleep} = event.data
      const rest = sleep ? soonest(state.rest, {...sleep, asleep: false}) : state.rest
      return basis || sleep ? {...state, rest, basis: newestFacts({...state.basis, ...basis})} : state
    }
    case 'view.refused':
      return {...state, step: null}
    case 'view.compacted':
      return event.data.usage ? {...state, usage: addUsage(state.usage, event.data.usage)} : state
    case 'run.slept': {
      const {until, why, cause} = event.data
      const forMs = Math.max(0, until - event.at)
      return {...state, rest: {asleep: true, until, why, forMs}, pauses: state.pauses + (cause === 'provider' ? 1 : 0)}
    }
    case 'run.woken':
      return {...state, rest: null}
    case 'run.completed':
      return {...state, ended: 'completed'}
    case 'run.cancelled':
      return {...state, ended: 'cancelled'}
    case 'run.alerted':
      return {...state, ended: 'alerted'}
    case 'run.failed':
      return {...state, ended: event.data.retryable ? 'failed_retryable' : 'failed_final'}
    case 'run.retried':
      return {...state, ended: null, unseen: 0, attempt: state.attempt + 1, retrying: true, pauses: 0, flawed: 0}
    case 'run.extended':
      return {...state, ended: null, unseen: 0, extensions: state.extensions + 1}
    case 'run.migrated':
      // A view that was prepared under the old version cannot be built again under the new one. [VIEW-2]
      return {...state, pin: {...state.pin, ...event.data.to}, step: state.step?.replied ? state.step : null}
    default:
      return state
  }
}

/**
 * The model is asked again after a reply that was cut or empty, but not after one that its provider withheld. A reply that
 * was too large to be kept here is not asked for again: the model had ended it, and it would be paid twice.
 */
function isContinued(flaw: ReplyFlaw | null, flawed: number, {budgets}: Pin): boolean {
  return flaw !== null && flaw !== 'filtered' && flawed <= (budgets.maxContinuations ?? defaultContinuations)
}

function soonest(one: Rest | null, other: Rest): Rest {
  return one && one.until <= other.until ? one : other
}

/** Maximum number of facts that an operation can rest on. */
const mostFacts = 200

function newestFacts(basis: Basis): Basis {
  const facts = Object.entries(basis)
  return facts.length > mostFacts ? Object.fromEntries(facts.slice(-mostFacts)) : basis
}

function addUsage(total: RunState['usage'], usage: z.infer<typeof usageSchema>): RunState['usage'] {
  const cachedTokens = (total.cachedTokens ?? 0) + (usage.cachedTokens ?? 0)
  return {
    inputTokens: total.inputTokens + (usage.inputTokens ?? 0),
    outputTokens: total.outputTokens + (usage.outputTokens ?? 0),
    unreported: total.unreported + (usage.inputTokens === null && usage.outputTokens === null ? 1 : 0),
    ...(cachedTokens > 0 && {cachedTokens}),
  }
}
