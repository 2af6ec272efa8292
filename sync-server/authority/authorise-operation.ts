import type {Authorisation} from '../define-operation.ts'
import {bindFacts} from '../facts.ts'
import type {LedgerRow} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {withDeadline} from './deadline.ts'
import {deadlineOf, type OperationContext, requestOf, say} from './operation-context.ts'
import {clip, type Prepared, prepareOperation} from './prepare-operation.ts'

/** proposed → refused, authorised or awaiting_approval; invalid input goes back before any approval exists. [OP-7] */
export async function authoriseOperation(context: OperationContext, row: LedgerRow): Promise<void> {
  const {operation} = row
  const prepared = await prepareOperation(context.operations, row)
  if ('code' in prepared) {
    await say(context, row, {kind: 'operation.refused', data: {operation, ...prepared}})
    return
  }
  const {definition, input} = prepared
  const facts = bindFacts(context.facts, {tenant: row.tenant, subject: row.requestedBy})
  const answer = await withDeadline(`authorise of "${row.tool}"`, deadlineOf(definition), () =>
    definition.authorise({...requestOf(row, input), facts}),
  )
  await say(context, row, draftOf(context, row, prepared, answer))
}

function draftOf(
  {environment}: OperationContext,
  {operation, tool, version}: LedgerRow,
  {digest, input}: Prepared,
  answer: Authorisation,
): ServiceDraft {
  if ('deny' in answer) {
    return {kind: 'operation.refused', data: {operation, code: 'not_authorised', reason: clip(answer.deny)}}
  }
  if ('allow' in answer) {
    return {kind: 'operation.authorised', data: {operation, digest, reason: clip(answer.allow)}}
  }
  const {role, reason, expiresInMs} = answer.approval
  return {
    kind: 'approval.requested',
    data: {
      approval: environment.id('approval'),
      operation,
      digest,
      role,
      reason: clip(reason),
      expiresAt: Math.round(environment.now() + expiresInMs),
      shown: {tool, version, input},
    },
  }
}
