import type {Reconciliation} from '../define-operation.ts'
import type {LedgerRow} from '../storage/store.ts'
import {withDeadline} from './deadline.ts'
import {deadlineOf, type OperationContext, type OperationDraft, requestOf, say} from './operation-context.ts'
import type {Led} from './operations.ts'
import {clip, prepareOperation} from './prepare-operation.ts'
import {storableReceipt} from './receipt.ts'

/**
 * Moves an operation from uncertain to executed or failed by querying the external system. It stays uncertain if the
 * outcome is unknown. The effect is never retried. [OP-4]
 */
export async function reconcileOperation(context: OperationContext, row: LedgerRow): Promise<Led> {
  const prepared = await prepareOperation(context.operations, row)
  // The tool was removed or changed. The operation waits for a matching deployment or a person's verdict.
  if ('code' in prepared) return null
  const {definition, input} = prepared
  const answer = await withDeadline(`reconcile of "${row.tool}"`, deadlineOf(definition), async () =>
    definition.reconcile
      ? definition.reconcile(requestOf(row, input))
      : {unknown: 'Only a person can determine the outcome.'},
  )
  const draft = draftOf(row, answer)
  if (!draft) return null
  return (await say(context, row, draft)) && (draft.kind === 'operation.executed' ? 'executed' : 'failed')
}

function draftOf({operation}: LedgerRow, answer: Reconciliation): OperationDraft | null {
  if ('executed' in answer) {
    return {kind: 'operation.executed', data: {operation, receipt: storableReceipt(answer.executed)}}
  }
  if ('notExecuted' in answer) return {kind: 'operation.failed', data: {operation, reason: clip(answer.notExecuted)}}
  return null
}
