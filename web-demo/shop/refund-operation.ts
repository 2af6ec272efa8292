import {type ApprovalRequest, defineOperation, OperationFailed} from '../../sync-server/index.ts'
import {euros} from '../money.ts'
import {approverRole, escalationRole, policyLimitCents, refundOrder, twoPersonLimitCents} from '../tools.ts'
import type {ShopFacts} from './facts.ts'
import {orderKey, orderSchema} from './order.ts'
import type {ShopTables} from './shop-tables.ts'

const oneDayMs = 24 * 60 * 60 * 1000
const halfAnHourMs = 30 * 60 * 1000
/** What the desk may pay out in a day, whoever allows it. */
const dayLimitCents = 1_000_000

/** The policy and the payment of a refund: the only code that moves money in this shop. */
export function refundOperation(shop: ShopTables, facts: ShopFacts) {
  return defineOperation({
    tool: refundOrder,
    async authorise({input}) {
      const stored = await shop.order(input.orderId)
      if (!stored) return {deny: `There is no order ${input.orderId}.`}
      const left = stored.order.refundableCents
      if (input.cents > left) return {deny: tooMuch(input.orderId, left)}
      if (input.cents <= policyLimitCents)
        return {allow: `Up to ${euros(policyLimitCents)} the policy allows by itself.`}
      return {approval: approvalOf(input.cents)}
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

function approvalOf(cents: number): ApprovalRequest {
  const escalate = {role: escalationRole, afterMs: halfAnHourMs}
  const asked = {role: approverRole, expiresInMs: oneDayMs, requesterMayDecide: false, escalate}
  return cents > twoPersonLimitCents
    ? {...asked, approvers: 2, reason: `${euros(cents)} is above ${euros(twoPersonLimitCents)}, so two people decide.`}
    : {...asked, reason: `${euros(cents)} is above ${euros(policyLimitCents)}, so a team lead decides.`}
}

function tooMuch(orderId: string, left: number): string {
  return left === 0
    ? `Order ${orderId} has already been refunded in full.`
    : `Only ${euros(left)} of order ${orderId} can still be refunded.`
}
