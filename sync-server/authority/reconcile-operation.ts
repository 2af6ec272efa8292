import type {Reconciliation} from '../define-operation.ts'
import type {LedgerRow} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {withDeadline} from './deadline.ts'
import {storable} from './execute-operation.ts'
import {deadlineOf, type OperationContext, requestOf, say} from './operation-context.ts'
import {clip, prepareOperation} from './prepare-operation.ts'

/**
 * uncertain → executed or failed, by asking the outside system; an unknown answer leaves it uncertain. Whatever comes,
 * the effect is not tried again. [OP-4]
 */
export async function reconcileOperation(context: OperationContext, row: LedgerRow): Promise<void> {
  const prepared = await prepareOperation(context.operations, row)
  // A tool that is gone or changed cannot be asked; the operation waits for one that can, or for a person.
  if ('code' in prepared) return
  const {definition, input} = prepared
  const answer = await withDeadline(`reconcile of "${row.tool}"`, deadlineOf(definition), () =>
    definition.reconcile(requestOf(row, input)),
  )
  const draft = draftOf(row, answer)
  if (draft) await say(context, row, draft)
}

function draftOf({operation}: LedgerRow, answer: Reconciliation): ServiceDraft | null {
  if ('executed' in answer) {
    return {kind: 'operation.executed', data: {operation, receipt: storable(answer.executed)}}
  }
  if ('notExecuted' in answer) return {kind: 'operation.failed', data: {operation, reason: clip(answer.notExecuted)}}
  return null
}
