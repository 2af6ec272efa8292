import * as z from 'zod'
import type {LoggedEvent} from './event.ts'
import {isReadable} from './event.ts'
import {approvalIdSchema, callIdSchema, operationIdSchema, type RunId, stepIdSchema} from './ids.ts'
import {jsonSchema} from './json.ts'
import {evolveOperation, hasEnded, type OperationState, operationStatuses, proposedOperation} from './operation.ts'
import {usageSchema} from './run.ts'
import {basisSchema} from './tool.ts'

/** One operation of a run, from its proposal to where it stands. */
export const operationRecordSchema = z.strictObject({
  operation: operationIdSchema,
  call: callIdSchema,
  tool: z.string(),
  version: z.string(),
  input: jsonSchema,
  basis: basisSchema,
  /** Of exactly what was authorised; null before. */
  digest: z.string().nullable(),
  status: z.enum(operationStatuses),
  /** Receipt, or why there is none; null until it has ended. */
  outcome: jsonSchema,
})
export type OperationRecord = z.infer<typeof operationRecordSchema>

export const approvalRecordSchema = z.strictObject({
  approval: approvalIdSchema,
  operation: operationIdSchema,
  role: z.string(),
  reason: z.string(),
  digest: z.string(),
  expiresAt: z.number(),
  status: z.enum(['open', 'granted', 'rejected', 'expired', 'voided']),
  decidedBy: z.string().nullable(),
  note: z.string().nullable(),
})
export type ApprovalRecord = z.infer<typeof approvalRecordSchema>

/** What one answered model call of the run took, as its reply says. */
export const stepUsageSchema = z.strictObject({
  step: stepIdSchema,
  attempt: z.int().positive(),
  finish: z.string(),
  ...usageSchema.shape,
})
export type StepUsage = z.infer<typeof stepUsageSchema>

export type RunRecords = {operations: OperationRecord[]; approvals: ApprovalRecord[]; steps: StepUsage[]}

/** What a run did, folded from the events of its session in log order. [OBS-2] */
export function recordsOf(events: Iterable<LoggedEvent>, run: RunId): RunRecords {
  const operations = new Map<string, {record: OperationRecord; state: OperationState}>()
  const approvals = new Map<string, ApprovalRecord>()
  const steps: StepUsage[] = []
  for (const event of events) {
    if (!isReadable(event)) continue
    if (event.kind === 'operation.proposed' && event.run === run) {
      const {operation, call, tool, version, input, basis} = event.data
      const state = proposedOperation(event, run)
      const record = {operation, call, tool, version, input, basis, digest: null, status: state.status, outcome: null}
      operations.set(operation, {record, state})
      continue
    }
    if (event.kind === 'model.replied' && event.run === run && event.step) {
      const {finish, usage} = event.data
      steps.push({step: event.step, attempt: event.attempt ?? 1, finish, ...usage})
    }
    if (!('operation' in event.data)) continue
    const known = operations.get(event.data.operation)
    if (!known) continue
    known.state = evolveOperation(known.state, event)
    const {status, outcome} = known.state
    const digest = 'digest' in event.data ? event.data.digest : known.record.digest
    known.record = {...known.record, digest, status, outcome: hasEnded(known.state) ? outcome : null}
    foldApproval(approvals, event)
  }
  return {operations: [...operations.values()].map(({record}) => record), approvals: [...approvals.values()], steps}
}

function foldApproval(approvals: Map<string, ApprovalRecord>, event: LoggedEvent): void {
  if (!isReadable(event) || !('operation' in event.data)) return
  const {operation} = event.data
  if (event.kind === 'approval.requested') {
    const {approval, role, reason, digest, expiresAt} = event.data
    const fresh = {approval, operation, role, reason, digest, expiresAt, status: 'open' as const}
    approvals.set(operation, {...fresh, decidedBy: null, note: null})
    return
  }
  const open = approvals.get(operation)
  if (open?.status !== 'open') return
  const become = (change: Partial<ApprovalRecord>) => approvals.set(operation, {...open, ...change})
  switch (event.kind) {
    case 'approval.granted':
      become({status: 'granted', decidedBy: event.data.by, note: event.data.note ?? null})
      return
    case 'approval.rejected':
      become({status: 'rejected', decidedBy: event.data.by, note: event.data.note ?? null})
      return
    case 'approval.expired':
      become({status: 'expired'})
      return
    case 'operation.voided':
      become({status: 'voided', note: event.data.reason})
      return
    default:
      return
  }
}
