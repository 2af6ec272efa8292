import type {ApprovalRequest, Authorisation} from '../define-operation.ts'
import {bindFacts} from '../facts.ts'
import type {LedgerRow} from '../storage/store.ts'
import {amountOf, singleFault} from './check-limits.ts'
import {withDeadline} from './deadline.ts'
import {deadlineOf, type OperationContext, type OperationDraft, requestOf, say} from './operation-context.ts'
import type {Led} from './operations.ts'
import {clip, type Prepared, prepareOperation} from './prepare-operation.ts'

/**
 * Moves an operation from proposed to refused, authorised or awaiting_approval. Invalid input is refused before an
 * approval is requested. [OP-7]
 */
export async function authoriseOperation(context: OperationContext, row: LedgerRow): Promise<Led> {
  const {operation} = row
  const prepared = await prepareOperation(context.operations, row)
  if ('code' in prepared) {
    return (await say(context, row, {kind: 'operation.refused', data: {operation, ...prepared}})) && 'refused'
  }
  const {definition, input} = prepared
  const fault = singleFault(definition, amountOf(definition, input))
  if (fault) {
    const data = {operation, code: 'over_limit' as const, reason: clip(fault.over)}
    return (await say(context, row, {kind: 'operation.refused', data})) && 'refused'
  }
  const facts = bindFacts(context.facts, {tenant: row.tenant, subject: row.requestedBy})
  const answer = await withDeadline(`authorise of "${row.tool}"`, deadlineOf(definition), () =>
    definition.authorise({...requestOf(row, input), facts}),
  )
  const draft = draftOf(context, row, prepared, answer)
  return (await say(context, row, draft)) && statusAfter[draft.kind]
}

const statusAfter = {
  'operation.refused': 'refused',
  'operation.authorised': 'authorised',
  'approval.requested': 'awaiting_approval',
} as const
type Outcome = Extract<OperationDraft, {kind: keyof typeof statusAfter}>

function draftOf(context: OperationContext, row: LedgerRow, prepared: Prepared, answer: Authorisation): Outcome {
  const {operation} = row
  if ('deny' in answer) {
    return {kind: 'operation.refused', data: {operation, code: 'not_authorised', reason: clip(answer.deny)}}
  }
  if ('allow' in answer) {
    return {kind: 'operation.authorised', data: {operation, digest: prepared.digest, reason: clip(answer.allow)}}
  }
  return requested(context, row, prepared, answer.approval)
}

function requested(
  {environment}: OperationContext,
  {operation, tool, version}: LedgerRow,
  {digest, input}: Prepared,
  {role, reason, expiresInMs, approvers, requesterMayDecide, escalate}: ApprovalRequest,
): Outcome {
  const now = environment.now()
  return {
    kind: 'approval.requested',
    data: {
      approval: environment.id('approval'),
      operation,
      digest,
      role,
      reason: clip(reason),
      expiresAt: Math.round(now + expiresInMs),
      shown: {tool, version, input},
      ...(approvers !== undefined && {approvers}),
      ...(requesterMayDecide !== undefined && {requesterMayDecide}),
      ...(escalate && {escalation: {role: escalate.role, at: Math.round(now + escalate.afterMs)}}),
    },
  }
}
