import {defineOperation, OperationFailed} from '../../sync-server/index.ts'
import {euros} from '../money.ts'
import {approverRole, policyLimitCents, refundOrder} from '../tools.ts'
import type {ShopFacts} from './facts.ts'
import {orderKey, orderSchema} from './order.ts'
import type {ShopTables} from './shop-tables.ts'

const oneDayMs = 24 * 60 * 60 * 1000

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
      const reason = `${euros(input.cents)} is above ${euros(policyLimitCents)}, so a team lead decides.`
      return {approval: {role: approverRole, reason, expiresInMs: oneDayMs}}
    },
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

function tooMuch(orderId: string, left: number): string {
  return left === 0
    ? `Order ${orderId} has already been refunded in full.`
    : `Only ${euros(left)} of order ${orderId} can still be refunded.`
}
