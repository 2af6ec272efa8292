import {euros} from '../money.ts'
import type {Order, OrderLine} from '../shop/order.ts'
import type {FindOutput, LookupOutput} from '../tool-outputs.ts'

type Found = Extract<LookupOutput, {found: true}>

/** Nothing is said about freshness when the server answered now; a copy always says how old it is. [FACT-2] */
export function freshness(output: {source: 'server' | 'replica'; asOf: string}): string {
  return output.source === 'replica' ? ` (as of ${output.asOf})` : ''
}

export function describeOrder(output: Found): string {
  const {order} = output
  const items = order.items
    .map(item => `- ${item.quantity} × ${item.name}, ${euros(item.cents * item.quantity)}`)
    .join('\n')
  return `**Order ${order.id}**, ${order.customer.name}${freshness(output)}: ${statusWords(order)}\n\n${items}\n\nTotal ${euros(order.totalCents)}. ${refundWords(order)}`
}

function statusWords(order: Order): string {
  return `placed on ${order.placedOn}, ${order.status}.${order.note ? ` ${order.note}` : ''}`
}

export function refundWords(order: Pick<Order, 'totalCents' | 'refundedCents'>): string {
  if (order.refundedCents === 0) return 'Nothing of it has been refunded.'
  const rest = order.totalCents - order.refundedCents
  return rest === 0
    ? 'It has been refunded in full.'
    : `${euros(order.refundedCents)} has been refunded; ${euros(rest)} can still be.`
}

export function describeList(output: Extract<FindOutput, {found: true}>): string {
  const names = new Set(output.orders.map(order => order.customer.name))
  const lines = output.orders.map(order => listLine(order, names.size > 1)).join('\n')
  const whose = names.size === 1 ? [...names][0] : `customers matching “${output.customer}”`
  return `Orders of ${whose}${freshness(output)}:\n\n${lines}`
}

function listLine(order: OrderLine, named: boolean): string {
  const who = named ? `${order.customer.name}, ` : ''
  const refunded = order.refundedCents > 0 ? `, ${euros(order.refundedCents)} refunded` : ''
  return `- **${order.id}**: ${who}${order.placedOn}, ${order.status}, ${euros(order.totalCents)}${refunded}`
}

export function listed(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
