import {type ApprovalRequest, defineOperation, OperationFailed} from '../../sync-server/index.ts'
import {euros} from '../money.ts'
import {
  approverRole,
  escalationRole,
  policyDayLimitCents,
  policyLimitCents,
  refundOrder,
  twoPersonLimitCents,
} from '../tools.ts'
import type {Claimed, ShopClaims} from './claims.ts'
import type {ShopFacts} from './facts.ts'
import {orderKey, orderSchema} from './order.ts'
import type {ShopTables} from './shop-tables.ts'

const oneDayMs = 24 * 60 * 60 * 1000
const halfAnHourMs = 30 * 60 * 1000
/** What the desk may pay out in a day, whoever allows it. */
const dayLimitCents = 1_000_000

/** The policy and the payment of a refund: the only code that moves money in this shop. */
export function refundOperation(shop: ShopTables, facts: ShopFacts, claims: ShopClaims) {
  return defineOperation({
    tool: refundOrder,
    async authorise({input, operation, session, subject}) {
      const stored = await shop.order(input.orderId)
      if (!stored) return {deny: `There is no order ${input.orderId}.`}
      const left = stored.order.refundableCents
      if (input.cents > left) return {deny: tooMuch(input.orderId, left)}
      const {orderId, cents} = input
      const before = await claims.before({operation, session, subject, orderId, cents})
      const why = needsApproval(input, before)
      await claims.decided(operation, why === null)
      if (why !== null) return {approval: approvalOf(before.ofOrder + input.cents, why)}
      return {allow: `Up to ${euros(policyLimitCents)} the policy allows by itself.`}
    },
    limits: [
      {kind: 'amount', sum: dayLimitCents, inMs: oneDayMs},
      {kind: 'concurrency', atOnce: 20},
    ],
    amount: ({cents}) => cents,
    amountWords: euros,
    verdictRole: approverRole,
    async recheck({input, changed}) {
      const order = changed.find(({key}) => key === orderKey(input.orderId))
      if (!order) return {ok: true}
      const now = orderSchema.safeParse(order.now?.value)
      if (!now.success) return {stale: `Order ${input.orderId} is no longer there.`}
      return {
        stale: `Order ${input.orderId} has changed since it was read; ${euros(now.data.refundableCents)} is left of it now.`,
      }
    },
    async execute({operation, input}) {
      const payment = await shop.pay(operation, input)
      if ('refused' in payment) throw new OperationFailed(payment.refused)
      const stored = await shop.order(input.orderId)
      if (stored) facts.changed(stored)
      return payment.paid
    },
    async reconcile({operation}) {
      const receipt = await shop.receiptOrClose(operation)
      return receipt ? {executed: receipt} : {notExecuted: 'The shop has paid no such refund and now never will.'}
    },
  })
}

/** Pure: why a person has to decide, in words for that person; null when the policy allows it by itself. */
function needsApproval({cents, orderId}: {cents: number; orderId: string}, before: Claimed): string | null {
  if (cents > policyLimitCents) return `${euros(cents)} is above ${euros(policyLimitCents)}, so a team lead decides.`
  const order = before.ofOrder + cents
  if (order > policyLimitCents) {
    return `With this, order ${orderId} has ${euros(order)} of refunds in a day, above ${euros(policyLimitCents)}, so a team lead decides.`
  }
  const day = before.withoutApproval + cents
  if (day <= policyDayLimitCents) return null
  return `With this, ${euros(day)} would be paid in a day without approval, above ${euros(policyDayLimitCents)}, so a team lead decides.`
}

function approvalOf(cents: number, why: string): ApprovalRequest {
  const escalate = {role: escalationRole, afterMs: halfAnHourMs}
  const asked = {role: approverRole, expiresInMs: oneDayMs, requesterMayDecide: false, escalate}
  return cents > twoPersonLimitCents
    ? {...asked, approvers: 2, reason: `${euros(cents)} is above ${euros(twoPersonLimitCents)}, so two people decide.`}
    : {...asked, reason: why}
}

function tooMuch(orderId: string, left: number): string {
  return left === 0
    ? `Order ${orderId} has already been refunded in full.`
    : `Only ${euros(left)} of order ${orderId} can still be refunded.`
}
