import type {Amount} from './amount.ts'
import {type Call, callsOf, type Turn} from './conversation.ts'
import {ordersIn, type Reading, understand} from './understand.ts'

/** The orders that the conversation was last about. */
export function focus(before: Turn[]): string[] {
  for (const turn of [...before].reverse()) {
    if (turn.type === 'said' && turn.by === 'person') {
      const orders = ordersIn(turn.text)
      if (orders.length > 0) return orders
    }
  }
  return []
}

/** The refunds proposed together most recently, with their amounts. */
export function lastRefunds(turns: readonly Turn[]): {order: string; amount: Amount}[] {
  return lastRefundCalls(turns).map(call => ({
    order: String(call.input.orderId),
    amount: {cents: Number(call.input.cents)},
  }))
}

export function lastRefundCalls(turns: readonly Turn[]): Call[] {
  const end = turns.findLastIndex(turn => turn.type === 'call' && turn.tool === 'refundOrder')
  let start = end
  while (turns[start - 1]?.type === 'call') start--
  return end < 0 ? [] : callsOf(turns.slice(start, end + 1), 'refundOrder')
}

export function lastReason(before: Turn[]): string | null {
  const reason = lastRefundCalls(before)[0]?.input.reason
  return typeof reason === 'string' ? reason : null
}

export function questionIn(before: Turn[]): string | null {
  const last = before.findLast(turn => turn.type === 'said')
  if (last?.type !== 'said' || last.by !== 'agent' || !last.text.trim().endsWith('?')) return null
  return last.text.split(/(?<=[.!])\s/).at(-1) ?? null
}

export function previousReading(before: Turn[]): Reading | null {
  const last = before.findLast(turn => turn.type === 'said' && turn.by === 'person')
  return last?.type === 'said' ? understand(last.text) : null
}
