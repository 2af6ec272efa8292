import * as z from 'zod'
import type {Event, Kind} from './event.ts'
import {type CallId, callIdSchema, type EventId, eventIdSchema, type RunId, type StepId} from './ids.ts'
import {jsonObjectSchema, jsonSchema} from './json.ts'
import {hasEnded, type OperationState} from './operation.ts'
import {type Pin, pinSchema} from './pin.ts'
import type {Refusal} from './refusal.ts'
import {type Basis, basisSchema} from './tool.ts'

export {type Budgets, type Pin, pinSchema} from './pin.ts'

export const usageSchema = z.strictObject({
  inputTokens: z.int().nonnegative().nullable(),
  outputTokens: z.int().nonnegative().nullable(),
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
export type ToolCall = z.infer<typeof toolCallSchema>

const replyPartSchema = z.discriminatedUnion('type', [
  z.strictObject({type: z.literal('text'), text: z.string(), providerMetadata: jsonObjectSchema.optional()}),
  z.strictObject({type: z.literal('reasoning'), text: z.string(), providerMetadata: jsonObjectSchema.optional()}),
  z.strictObject({type: z.literal('call'), ...toolCallSchema.shape}),
])
export type ReplyPart = z.infer<typeof replyPartSchema>

/** What went into one model call: enough to rebuild the prompt byte for byte and check its hash. [VIEW-2] */
export const manifestSchema = z.strictObject({
  /** The transcript events that the view was made from, oldest first. */
  events: z.array(eventIdSchema).max(5000),
  /** Messages that this step is the first to see. */
  answers: z.array(eventIdSchema).max(500),
  estimatedTokens: z.int().nonnegative(),
  /** SHA-256 of the canonical JSON of the exact prompt. */
  promptHash: z.string().regex(/^[0-9a-f]{64}$/),
})
export type Manifest = z.infer<typeof manifestSchema>

export const toolOutcomes = ['ok', 'error', 'denied', 'aborted', 'superseded'] as const

export const runKinds = {
  'run.started': z.strictObject({pin: pinSchema}),
  'step.prepared': z.strictObject({number: z.int().positive(), manifest: manifestSchema}),
  /** A reply and every call in it are one event, so that no crash can keep the one without the others. [LOG-6] */
  'model.replied': z.strictObject({
    content: z.array(replyPartSchema).max(500),
    finish: z.enum(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other']),
    usage: usageSchema,
  }),
  'tool.called': z.strictObject({call: callIdSchema}),
  'tool.returned': z.strictObject({
    call: callIdSchema,
    outcome: z.enum(toolOutcomes),
    output: jsonSchema,
    /** Versions of the facts that this call read. */
    basis: basisSchema.optional(),
  }),
  'run.completed': z.strictObject({outcome: z.enum(['finished', 'partial']), bound: z.string().max(100).optional()}),
  'run.failed': z.strictObject({code: z.string().max(50), message: z.string().max(2000), retryable: z.boolean()}),
}

/** Transitions that a person owns: any device of the subject may write them, without custody. */
export const runPersonKinds = {
  'run.cancelled': z.strictObject({reason: z.string().max(500).optional()}),
  'run.retried': z.strictObject({}),
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
  ended: 'completed' | 'cancelled' | 'failed_retryable' | 'failed_final' | null
  startedBy: EventId
  /** Messages that no step had seen when the run failed or was cancelled: they alone do not start another. */
  unseen: number
  steps: number
  /** The step under way, and whether its model call has been answered; null before the first. */
  step: {id: StepId; prepared: EventId; replied: boolean; final: boolean} | null
  /** Every call that the run has made; the pin bounds how many. */
  calls: CallId[]
  /** Fact versions that the run has read so far: the basis of what it proposes. */
  basis: Basis
  usage: {inputTokens: number; outputTokens: number}
}

type Row = {from: readonly RunStatus[]; owner: Refusal['owner']; to: readonly RunStatus[]}
const active = ['running', 'waiting_for_tool', 'waiting_for_approval'] as const

/** RUN-1: the whole table. What is not in it is refused by name. */
export const runTransitions = {
  'run.started': {from: ['new'], owner: 'loop', to: ['running']},
  'step.prepared': {from: ['running'], owner: 'loop', to: ['running']},
  'model.replied': {from: ['running'], owner: 'loop', to: ['running']},
  'tool.called': {from: active, owner: 'loop', to: active},
  'tool.returned': {from: active, owner: 'loop', to: active},
  'operation.proposed': {from: active, owner: 'loop', to: ['waiting_for_tool', 'waiting_for_approval']},
  'run.completed': {from: ['running'], owner: 'loop', to: ['completed']},
  'run.failed': {from: active, owner: 'loop', to: ['failed_retryable', 'failed_final']},
  'run.cancelled': {from: [...active, 'failed_retryable'], owner: 'user', to: ['cancelled']},
  'run.retried': {from: ['failed_retryable'], owner: 'user', to: ['running']},
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
  return open.length > 0 ? 'waiting_for_tool' : 'running'
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
    startedBy: event.id,
    unseen: 0,
    steps: 0,
    step: null,
    calls: [],
    basis: {},
    usage: {inputTokens: 0, outputTokens: 0},
  }
}

export function evolveRun(state: RunState, event: Event): RunState {
  switch (event.kind) {
    case 'step.prepared': {
      if (!event.step) return state
      const step = {id: event.step, prepared: event.id, replied: false, final: false}
      return {...state, steps: state.steps + 1, step}
    }
    case 'model.replied': {
      if (!state.step) return state
      const calls = event.data.content.flatMap(part => (part.type === 'call' ? part.call : []))
      return {
        ...state,
        step: {...state.step, replied: true, final: calls.length === 0},
        calls: [...state.calls, ...calls],
        usage: addUsage(state.usage, event.data.usage),
      }
    }
    case 'tool.returned':
      return event.data.basis ? {...state, basis: {...state.basis, ...event.data.basis}} : state
    case 'run.completed':
      return {...state, ended: 'completed'}
    case 'run.cancelled':
      return {...state, ended: 'cancelled'}
    case 'run.failed':
      return {...state, ended: event.data.retryable ? 'failed_retryable' : 'failed_final'}
    case 'run.retried':
      return {...state, ended: null, unseen: 0, attempt: state.attempt + 1}
    default:
      return state
  }
}

function addUsage(total: RunState['usage'], usage: z.infer<typeof usageSchema>): RunState['usage'] {
  return {
    inputTokens: total.inputTokens + (usage.inputTokens ?? 0),
    outputTokens: total.outputTokens + (usage.outputTokens ?? 0),
  }
}
