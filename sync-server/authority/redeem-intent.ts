import type {ApprovalRecord} from '../../runtime/protocol/approval.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {ApprovalId} from '../../runtime/protocol/ids.ts'
import type {SignedIntent} from '../../runtime/protocol/intent.ts'
import type {Principal} from '../principal.ts'
import {checkDecision, decideApproval, isDecidedSo, refuse} from './approvals.ts'
import {signatureFault} from './approver-keys.ts'
import {type OperationContext, say} from './operation-context.ts'
import {clip, prepareOperation} from './prepare-operation.ts'
import {staleness} from './staleness.ts'

/**
 * Redeems a decision that was signed offline. The signature proves who decided what and when. Everything else is
 * checked now: the key, the caller's current roles, the state and expiry of the approval, its digest, and the facts
 * that the operation is based on. A decision takes effect once. [APP-4]
 *
 * @throws HoldfastError as `decideApproval`, and `forbidden` for a key that is unknown, revoked or another subject's
 */
export async function redeemIntent(
  context: OperationContext,
  principal: Principal,
  approval: ApprovalId,
  signed: SignedIntent,
): Promise<ApprovalRecord> {
  const {intent} = signed
  const fault =
    intent.approval === approval
      ? await signatureFault(context, principal, signed)
      : new HoldfastError('conflict', 'The intent is about another approval.')
  if (fault) throw await refuse(context, principal, approval, fault)
  const {verdict, digest, note, key, nonce, at} = intent
  const decision = {verdict, digest, ...(note !== undefined && {note})}
  const known = await context.store.approvals.get(principal.tenant, approval)
  if (known && isDecidedSo(known, principal, decision)) return known
  if (verdict === 'approve') {
    const {item} = await checkDecision(context, principal, approval, decision)
    await refuseIfStale(context, principal, item)
  }
  return decideApproval(context, principal, approval, decision, {key, nonce, at})
}

/** Refuses the operation if its facts have changed since the signature, so that the run plans again. */
async function refuseIfStale(context: OperationContext, principal: Principal, item: ApprovalRecord): Promise<void> {
  const {tenant} = principal
  const row = await context.store.ledger.operation({tenant, operation: item.operation})
  const prepared = row && (await prepareOperation(context.operations, row))
  // Execution detects and reports a missing tool.
  if (!row || !prepared || 'code' in prepared) return
  const stale = await staleness(context, row, prepared)
  if (stale === null) return
  const data = {operation: row.operation, code: 'stale' as const, reason: clip(stale)}
  await say(context, row, {kind: 'operation.refused', data})
  const error = new HoldfastError('refused', `What this rests on has changed since you decided: ${data.reason}`, {
    details: {status: 'voided', reason: data.reason},
  })
  throw await refuse(context, principal, item.approval, error)
}
