import * as z from 'zod'
import {digestSchema} from './approval.ts'
import type {Event} from './event.ts'
import {
  type ApprovalId,
  type CallId,
  callIdSchema,
  eventIdSchema,
  type OperationId,
  operationIdSchema,
  type RunId,
  type SubjectId,
  subjectIdSchema,
} from './ids.ts'
import {type Json, jsonSchema} from './json.ts'
import type {Refusal} from './refusal.ts'
import {type Basis, basisSchema} from './tool.ts'

/**
 * An operation is one external effect. A device proposes it with exact input and the versions of the facts it rests
 * on; the server validates, authorises, executes and records. [OP-2]
 *
 *   proposed ─▶ awaiting_approval ─▶ authorised ─▶ started ─▶ executed
 *      │               │                 │            ├──▶ failed
 *      ├▶ refused      ├▶ rejected       ├▶ refused   └──▶ uncertain ─▶ executed | failed
 *      │               ├▶ refused        │
 *      │               ├▶ expired        │
 *      └───────────────┴─────────────────┴▶ voided
 */
export const proposalKinds = {
  'operation.proposed': z.strictObject({
    operation: operationIdSchema,
    call: callIdSchema,
    tool: z.string().min(1).max(100),
    version: z.string().min(1).max(50),
    input: jsonSchema,
    basis: basisSchema,
  }),
}

const reason = z.string().max(2000)
/** The person who said so, because no system could tell. [OP-4] */
const settledBy = subjectIdSchema.optional()
export const refusalCodeSchema = z.enum([
  'unknown_tool',
  'version_mismatch',
  'invalid_input',
  'not_authorised',
  'stale',
  'over_limit',
])

export const operationKinds = {
  'operation.refused': z.strictObject({operation: operationIdSchema, code: refusalCodeSchema, reason}),
  'operation.authorised': z.strictObject({operation: operationIdSchema, digest: digestSchema, reason}),
  'operation.started': z.strictObject({
    operation: operationIdSchema,
    digest: digestSchema,
    /** What it counts towards the tool's limits. */
    amount: z.number().nonnegative().optional(),
    /** Whose word settles it if nothing else can. */
    verdictRole: z.string().min(1).max(100).optional(),
    /** Until then the call may be under way; milliseconds since 1970. */
    answersBy: z.number().optional(),
  }),
  'operation.executed': z.strictObject({operation: operationIdSchema, receipt: jsonSchema, settledBy}),
  'operation.failed': z.strictObject({operation: operationIdSchema, reason, settledBy}),
  'operation.uncertain': z.strictObject({operation: operationIdSchema, reason}),
  'operation.voided': z.strictObject({operation: operationIdSchema, reason, because: eventIdSchema.optional()}),
}

export const operationStatuses = [
  'proposed',
  'awaiting_approval',
  'authorised',
  'started',
  'uncertain',
  'executed',
  'failed',
  'refused',
  'rejected',
  'expired',
  'voided',
] as const
export type OperationStatus = (typeof operationStatuses)[number]

export type OperationState = {
  id: OperationId
  call: CallId
  run: RunId
  tool: string
  status: OperationStatus
  basis: Basis
  approval: {
    id: ApprovalId
    role: string
    reason: string
    expiresAt: number
    /** How many people have to say yes, and who has. */
    approvers: number
    endorsedBy: readonly SubjectId[]
    /** Whose authority was used for it: somebody and whoever they lent their role to are one voice. */
    voices: readonly SubjectId[]
    escalatedTo: string | null
  } | null
  /** Whose word settles it while it is uncertain; null until it has started. */
  verdictRole: string | null
  /** Receipt, or why there is none; null until the operation has ended. */
  outcome: Json
}

/** A correction can still void it: nothing has been asked of the outside world yet. [RUN-4] */
export function isVoidable(operation: OperationState): boolean {
  return ['proposed', 'awaiting_approval', 'authorised'].includes(operation.status)
}

export function hasEnded(operation: OperationState): boolean {
  return ['executed', 'failed', 'refused', 'rejected', 'expired', 'voided'].includes(operation.status)
}

/** Maps the status of an ended operation to the outcome of its call. */
export function resultOutcome({status}: OperationState): 'ok' | 'denied' | 'superseded' | 'error' {
  switch (status) {
    case 'executed':
      return 'ok'
    case 'rejected':
    case 'expired':
      return 'denied'
    case 'voided':
      return 'superseded'
    default:
      return 'error'
  }
}

type Row = {from: readonly OperationStatus[]; owner: Refusal['owner']; to: readonly OperationStatus[]}
const approvals = 'approval service'
const operations = 'operation service'

/** RUN-1: every event about an operation, from where it is legal, whose it is and where it leads. */
export const operationTransitions = {
  'operation.refused': {from: ['proposed', 'awaiting_approval', 'authorised'], owner: operations, to: ['refused']},
  'operation.authorised': {from: ['proposed'], owner: operations, to: ['authorised']},
  'approval.requested': {from: ['proposed'], owner: approvals, to: ['awaiting_approval']},
  'approval.endorsed': {from: ['awaiting_approval'], owner: approvals, to: ['awaiting_approval']},
  'approval.granted': {from: ['awaiting_approval'], owner: approvals, to: ['authorised']},
  'approval.rejected': {from: ['awaiting_approval'], owner: approvals, to: ['rejected']},
  'approval.escalated': {from: ['awaiting_approval'], owner: approvals, to: ['awaiting_approval']},
  'approval.expired': {from: ['awaiting_approval'], owner: approvals, to: ['expired']},
  'operation.started': {from: ['authorised'], owner: operations, to: ['started']},
  'operation.executed': {from: ['started', 'uncertain'], owner: operations, to: ['executed']},
  'operation.failed': {from: ['started', 'uncertain'], owner: operations, to: ['failed']},
  'operation.uncertain': {from: ['started'], owner: operations, to: ['uncertain']},
  'operation.voided': {
    from: ['proposed', 'awaiting_approval', 'authorised'],
    owner: 'control plane',
    to: ['voided'],
  },
} as const satisfies Record<string, Row>
export type OperationEvent = Extract<Event, {kind: keyof typeof operationTransitions}>

export function isOperationEvent(event: Event): event is OperationEvent {
  return Object.hasOwn(operationTransitions, event.kind)
}

/** What this event meets that forbids it, in words; null when it may happen. */
export function operationFault(operation: OperationState, event: OperationEvent): string | null {
  const from: readonly OperationStatus[] = operationTransitions[event.kind].from
  if (!from.includes(operation.status)) return `an operation that is ${operation.status}`
  if (event.kind !== 'approval.endorsed' && event.kind !== 'approval.granted') return null
  return operation.approval ? endorsementFault(operation.approval, event) : 'no approval'
}

/** Of several people each counts once, and only the last of them grants. */
function endorsementFault(
  {id, approvers, endorsedBy, voices}: NonNullable<OperationState['approval']>,
  {kind, data}: Extract<Event, {kind: 'approval.endorsed' | 'approval.granted'}>,
): string | null {
  if (data.approval !== id) return 'another approval'
  if (endorsedBy.includes(data.by)) return `a yes that ${data.by} has given already`
  if (voices.includes(data.delegatedBy ?? data.by)) return 'a yes under the same authority'
  const last = endorsedBy.length + 1 >= approvers
  if (last === (kind === 'approval.granted')) return null
  return `an approval by ${endorsedBy.length} of ${approvers} people`
}

export function proposedOperation(event: Extract<Event, {kind: 'operation.proposed'}>, run: RunId): OperationState {
  const {operation, call, tool, basis} = event.data
  return {id: operation, call, run, tool, status: 'proposed', basis, approval: null, verdictRole: null, outcome: null}
}

export function evolveOperation(state: OperationState, event: Event): OperationState {
  switch (event.kind) {
    case 'approval.requested': {
      const {approval: id, role, reason, expiresAt, approvers = 1} = event.data
      const approval = {id, role, reason, expiresAt, approvers, endorsedBy: [], voices: [], escalatedTo: null}
      return {...state, status: 'awaiting_approval', approval}
    }
    case 'approval.endorsed':
      return withApproval(state, ({endorsedBy, voices}) => ({
        endorsedBy: [...endorsedBy, event.data.by],
        voices: [...voices, event.data.delegatedBy ?? event.data.by],
      }))
    case 'approval.escalated':
      return withApproval(state, () => ({escalatedTo: event.data.role}))
    case 'approval.granted':
      return {...state, status: 'authorised'}
    case 'approval.rejected':
      return {...state, status: 'rejected', outcome: {by: event.data.by, note: event.data.note ?? null}}
    case 'approval.expired':
      return {...state, status: 'expired', outcome: {reason: 'Nobody decided in time.'}}
    case 'operation.authorised':
      return {...state, status: 'authorised'}
    case 'operation.started':
      return {...state, status: 'started', verdictRole: event.data.verdictRole ?? null}
    case 'operation.executed':
      return {...state, status: 'executed', outcome: event.data.receipt}
    case 'operation.uncertain':
      return {...state, status: 'uncertain'}
    case 'operation.failed':
      return {...state, status: 'failed', outcome: {reason: event.data.reason}}
    case 'operation.refused':
      return {...state, status: 'refused', outcome: {code: event.data.code, reason: event.data.reason}}
    case 'operation.voided':
      return {...state, status: 'voided', outcome: {reason: event.data.reason}}
    default:
      return state
  }
}

type ApprovalState = NonNullable<OperationState['approval']>

function withApproval(
  state: OperationState,
  change: (approval: ApprovalState) => Partial<ApprovalState>,
): OperationState {
  return state.approval ? {...state, approval: {...state.approval, ...change(state.approval)}} : state
}
