import type {OperationId} from '../../runtime/protocol/ids.ts'
import type {DueItem} from '../storage/due-work.ts'
import type {OperationRef} from '../storage/store.ts'
import {escalateApproval, expireApproval} from './approvals.ts'
import {deliverWebhook} from './deliver-webhook.ts'
import {type DueWorker, dueWorker} from './due-worker.ts'
import {longestDeadline, type OperationContext} from './operation-context.ts'
import {operationHandler} from './operations.ts'

/** Creates the worker with the handlers of all timed work, by the name under which it is due. */
export function openDueWorker(context: OperationContext, inDoubt: () => boolean = () => false): DueWorker {
  const worker: DueWorker = dueWorker({
    due: context.store.due,
    now: () => context.environment.now(),
    onFault: context.onFault,
    // One claim may call all four functions of a definition, each up to its deadline.
    leaseMs: 5 * longestDeadline(context.operations),
    handlers: {
      operation: operationHandler(context, ref => worker.nudge(ref)),
      // Postponed while the clock may be wrong: an expired approval cannot be restored.
      expire: item =>
        inDoubt()
          ? Promise.resolve(context.environment.now() + 60_000)
          : expireApproval(context, refOf(item)).then(() => null),
      escalate: item => escalateApproval(context, refOf(item)).then(() => null),
      webhook: item => deliverWebhook(context, item),
    },
  })
  return worker
}

function refOf({tenant, key}: DueItem): OperationRef {
  return {tenant, operation: key as OperationId}
}
