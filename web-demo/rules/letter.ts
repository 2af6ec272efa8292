import {euros} from '../money.ts'
import type {Order} from '../shop/order.ts'

/** The reply to the customer: says what will be asked for, and does not promise what no server has confirmed. */
export function letter(
  order: Order,
  {reason, refund, signature}: {reason: string | null; refund: {cents: number} | null; signature: string | null},
): string {
  const first = order.customer.name.split(' ')[0] ?? order.customer.name
  return [
    `Dear ${first},`,
    '',
    `thank you for writing to us about your order ${order.id}. ${regret(reason)}`,
    '',
    refund
      ? `We are arranging a refund of ${euros(refund.cents)}. It goes back the way you paid and usually shows up within five working days.`
      : 'I am looking into it and will come back to you within one working day.',
    '',
    'Kind regards',
    `${signature ?? 'Maya'}, Fernweh Outfitters`,
  ].join('\n')
}

function regret(reason: string | null): string {
  switch (reason) {
    case 'Never arrived':
      return 'I am sorry that it never reached you.'
    case 'Wrong item sent':
      return 'I am sorry that we sent you the wrong thing.'
    case 'Item missing':
      return 'I am sorry that something was missing from it.'
    case 'Faulty':
      return 'I am sorry that it does not work as it should.'
    case 'Arrived broken':
    case 'Arrived damaged':
      return 'I am sorry that it did not reach you in one piece.'
    default:
      return ''
  }
}
