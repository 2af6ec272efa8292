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
} from './ids.ts'
import {type Json, jsonSchema} from './json.ts'
import {type Basis, basisSchema} from './tool.ts'

/**
 * An operation is one external effect. A device proposes it with exact input and the versions of the facts it rests
 * on; the server validates, authorises, executes and records. [OP-2]
 *
 *   proposed ─▶ awaiting_approval ─▶ authorised ─▶ started ─▶ executed
 *      │               │                 │            ├──▶ failed
 *      ├▶ refused      ├▶ rejected       ├▶ refused   └──▶ uncertain ─▶ executed | failed
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
export const refusalCodeSchema = z.enum([
  'unknown_tool',
  'version_mismatch',
  'invalid_input',
  'not_authorised',
  'stale',
])

export const operationKinds = {
  'operation.refused': z.strictObject({operation: operationIdSchema, code: refusalCodeSchema, reason}),
  'operation.authorised': z.strictObject({operation: operationIdSchema, digest: digestSchema, reason}),
  'operation.started': z.strictObject({operation: operationIdSchema, digest: digestSchema}),
  'operation.executed': z.strictObject({operation: operationIdSchema, receipt: jsonSchema}),
  'operation.failed': z.strictObject({operation: operationIdSchema, reason}),
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
  approval: {id: ApprovalId; role: string; reason: string; expiresAt: number} | null
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

/** Which status each server event needs before it; anything else is refused by name. */
export const operationTransitions: Record<string, readonly OperationStatus[]> = {
  'operation.refused': ['proposed', 'authorised'],
  'operation.authorised': ['proposed'],
  'approval.requested': ['proposed'],
  'approval.granted': ['awaiting_approval'],
  'approval.rejected': ['awaiting_approval'],
  'approval.expired': ['awaiting_approval'],
  'operation.started': ['authorised'],
  'operation.executed': ['started', 'uncertain'],
  'operation.failed': ['started', 'uncertain'],
  'operation.uncertain': ['started'],
  'operation.voided': ['proposed', 'awaiting_approval', 'authorised'],
}

export function proposedOperation(event: Extract<Event, {kind: 'operation.proposed'}>, run: RunId): OperationState {
  const {operation, call, tool, basis} = event.data
  return {id: operation, call, run, tool, status: 'proposed', basis, approval: null, outcome: null}
}

export function evolveOperation(state: OperationState, event: Event): OperationState {
  switch (event.kind) {
    case 'approval.requested': {
      const {approval, role, reason, expiresAt} = event.data
      return {...state, status: 'awaiting_approval', approval: {id: approval, role, reason, expiresAt}}
    }
    case 'approval.granted':
      return {...state, status: 'authorised'}
    case 'approval.rejected':
      return {...state, status: 'rejected', outcome: {by: event.data.by, note: event.data.note ?? null}}
    case 'approval.expired':
      return {...state, status: 'expired', outcome: {reason: 'Nobody decided in time.'}}
    case 'operation.authorised':
      return {...state, status: 'authorised'}
    case 'operation.started':
      return {...state, status: 'started'}
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
