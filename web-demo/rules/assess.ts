import {euros} from '../money.ts'
import type {Order} from '../shop/order.ts'
import type {LookupOutput} from '../tool-outputs.ts'
import {freshness} from './describe.ts'
import type {Request} from './understand.ts'

export type Assessment = {propose: {order: Order; cents: number; about: string | null}} | {say: string}

/** What can be proposed for one order, given what the lookup said; the server checks it all again. */
export function assess(request: Request, looked: LookupOutput, instruction: string): Assessment {
  const id = request.order
  if ('unavailable' in looked) return {say: unseen(id)}
  if (!looked.found) return {say: unknownOrder(id)}
  const {order} = looked
  const left = order.refundableCents
  const asOf = freshness(looked)
  if (left === 0)
    return {
      say: `Order ${id} has already been refunded in full (${euros(order.refundedCents)})${asOf}; nothing is left to refund.`,
    }
  const item = request.amount ? null : itemIn(order, instruction)
  const cents = centsFor(request, order, item)
  if (cents <= 0) return {say: `A refund has to be more than nothing; ${euros(left)} of ${id} can be refunded${asOf}.`}
  if (cents > left) {
    return {
      say: `${euros(cents)} is more than is left of order ${id}${asOf}. Shall I propose ${euros(left)} for ${id} instead?`,
    }
  }
  return {propose: {order, cents, about: item?.name ?? null}}
}

function centsFor({amount}: Request, order: Order, item: Order['items'][number] | null): number {
  if (!amount) return Math.min(item ? item.cents * item.quantity : order.refundableCents, order.refundableCents)
  if ('cents' in amount) return amount.cents
  return amount.share === 'half' ? Math.floor(order.refundableCents / 2) : order.refundableCents
}

/** "The mug in A17 arrived broken" names one line of the order; two that fit name none. */
function itemIn(order: Order, instruction: string): Order['items'][number] | null {
  const words = new Set(instruction.toLowerCase().match(/\p{L}{3,}/gu) ?? [])
  const fitting = order.items.filter(item =>
    (item.name.toLowerCase().match(/\p{L}{3,}/gu) ?? []).some(word => words.has(word)),
  )
  return fitting.length === 1 && order.items.length > 1 ? (fitting[0] ?? null) : null
}

export function unknownOrder(id: string): string {
  return `The shop has no order ${id}. Could you check the number?`
}

export function unseen(id: string): string {
  return `I cannot see order ${id} now: the server cannot be reached and this device has no copy of it. Ask again when the connection is back.`
}
