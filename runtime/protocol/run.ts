import * as z from 'zod'
import type {Event, Kind} from './event.ts'
import {type CallId, callIdSchema, type DeviceId, deviceIdSchema, type EventId, type RunId, type StepId} from './ids.ts'
import {jsonObjectSchema, jsonSchema} from './json.ts'
import {manifestSchema} from './manifest.ts'
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
  /** Who worked on it last, and what that one went on from; null while whoever started it goes on. [RUN-8] */
  worker: {holder: DeviceId | null; epoch: number}
  resumedFrom: ResumedFrom | null
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
  'run.resumed': {from: active, owner: 'loop', to: active},
  'step.prepared': {from: ['running'], owner: 'loop', to: ['running']},
  'model.replied': {from: ['running'], owner: 'loop', to: ['running']},
  'tool.called': {from: active, owner: 'loop', to: active},
  'tool.returned': {from: active, owner: 'loop', to: active},
  'operation.proposed': {from: active, owner: 'loop', to: ['waiting_for_tool', 'waiting_for_approval']},
  'slots.patched': {from: active, owner: 'loop', to: active},
  'view.compacted': {from: ['running'], owner: 'loop', to: ['running']},
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
    worker: {holder: event.device, epoch: event.epoch ?? 1},
    resumedFrom: null,
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
      return {
        ...state,
        step: {...state.step, replied: true, final: calls.length === 0},
        calls: [...state.calls, ...calls],
        usage: addUsage(state.usage, event.data.usage),
      }
    }
    case 'tool.returned':
      return event.data.basis ? {...state, basis: {...state.basis, ...event.data.basis}} : state
    case 'view.compacted':
      return event.data.usage ? {...state, usage: addUsage(state.usage, event.data.usage)} : state
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
