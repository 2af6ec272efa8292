import {repliesFor} from './scripted-gateway.ts'

/** A refund that the scripted model can be asked for; above the policy's limit, so that Theo has to approve it. */
export type Refund = {orderId: string; cents: number; text: string}

/**
 * Refunds one after the other, each of an amount of its own, so that one paid twice or for another conversation shows
 * in the tables. These orders have room for three each.
 */
export function refunds(): {next(): Refund; asked: Pick<Refund, 'orderId' | 'cents'>[]} {
  const asked: Pick<Refund, 'orderId' | 'cents'>[] = []
  return {
    asked,
    next() {
      const orderId = ['B22', 'C09', 'D11'][asked.length % 3] ?? 'B22'
      const cents = 6000 + asked.length
      asked.push({orderId, cents})
      return {orderId, cents, text: textOf({orderId, cents})}
    },
  }
}

export function textOf({orderId, cents}: Pick<Refund, 'orderId' | 'cents'>): string {
  return `Refund ${cents} cents of ${orderId}`
}

/** The conversation about one refund that was approved and paid, as it reads when nothing was lost or doubled. */
export function paidTranscript({orderId, cents, text}: Refund): string[] {
  const [look, propose, last] = repliesFor(orderId)
  return [
    `Maya: ${text}`,
    `Agent: ${look}`,
    `Looked up order ${orderId}`,
    `Agent: ${propose}`,
    `Refund of €${(cents / 100).toFixed(2)} for order ${orderId}: Refunded`,
    `Agent: ${last}`,
  ]
}
