import {focus, lastReason, lastRefunds, previousReading, questionIn} from './context.ts'
import type {Conversation, Turn} from './conversation.ts'
import {asksToRemember, asksWhatIsRemembered} from './remembered.ts'
import {type Reading, type Request, understand} from './understand.ts'

/** What is answered with the same words whatever the records say. */
export type Fixed = 'noted' | 'greet' | 'help' | 'thanks' | 'left' | 'unknown' | 'which-order' | 'which-customer'

export type Goal =
  | {type: Fixed}
  | {type: 'recall'}
  | {type: 'list'; customer: string}
  | {type: 'status'; orders: string[]; understood: boolean}
  | {type: 'outcome'; orders: string[]}
  | {type: 'withdraw'; orders: string[]}
  | {type: 'draft'; orders: string[]; reason: string | null}
  | {type: 'refund'; requests: Request[]; reason: string | null; draft: boolean; text: string}

/** The newest instruction, with what it leaves out filled in from the conversation; never from anywhere else. */
export function goalOf({before, instruction}: Conversation): Goal {
  const reading = understand(instruction)
  const asked = questionIn(before)
  if (asksWhatIsRemembered(instruction)) return {type: 'recall'}
  if (reading.requests.length === 0 && asksToRemember(instruction)) {
    // "Never mind", "never refund it": said of what is under way, unless it is to be remembered in so many words.
    if (!reading.withdraws || /\bremember\b/i.test(instruction)) return {type: 'noted'}
  }
  if (reading.social && reading.requests.length === 0) return social(reading, before, asked)
  if (reading.withdraws && reading.verb !== 'refund' && !reading.amount) {
    return {type: 'withdraw', orders: reading.withdrawn}
  }
  const verb = reading.verb ?? verbFromContext(reading, before, asked)
  switch (verb) {
    case 'refund':
    case 'broken':
      return refundGoal(reading, before, asked)
    case 'list': {
      const customer = reading.customer ?? (asked ? bareName(reading.text) : null)
      return customer ? {type: 'list', customer} : {type: 'which-customer'}
    }
    case 'outcome':
      return {type: 'outcome', orders: named(reading)}
    case 'draft':
      return withOrders(reading, before, orders => ({type: 'draft', orders, reason: reading.reason}))
    case 'status':
      return withOrders(reading, before, orders => ({type: 'status', orders, understood: true}))
    default:
      return named(reading).length > 0 ? {type: 'status', orders: named(reading), understood: false} : {type: 'unknown'}
  }
}

function social(reading: Reading, before: Turn[], asked: string | null): Goal {
  switch (reading.social) {
    case 'yes':
      return asked ? accepted(asked, before) : {type: 'help'}
    case 'no':
      return before.length > 0 ? {type: 'left'} : {type: 'help'}
    case 'again': {
      const last = lastRefunds(before)
      return last.length > 0
        ? {type: 'refund', requests: last, reason: lastReason(before), draft: false, text: ''}
        : {type: 'help'}
    }
    default:
      return {type: reading.social ?? 'help'}
  }
}

/** "Shall I propose €26.00 for A17 instead?" – "yes": the question itself holds the order and the amount. */
function accepted(question: string, before: Turn[]): Goal {
  const {requests} = understand(question)
  if (requests.length === 0) return {type: 'which-order'}
  return {type: 'refund', requests, reason: lastReason(before), draft: false, text: ''}
}

/** A bare "A17" or "only 10 €" continues what was under way; a bare order with nothing under way is looked up. */
function verbFromContext(reading: Reading, before: Turn[], asked: string | null): Reading['verb'] {
  if (reading.amount || (reading.requests.length > 0 && reading.requests.some(request => request.amount)))
    return 'refund'
  if (!asked) return null
  const previous = previousReading(before)
  if (previous?.verb === 'list') return 'list'
  return reading.requests.length > 0 ? (previous?.verb ?? null) : null
}

function refundGoal(reading: Reading, before: Turn[], asked: string | null): Goal {
  const previous = asked ? previousReading(before) : null
  const amount = reading.amount ?? previous?.amount ?? null
  const requests = reading.requests.length > 0 ? reading.requests : inherited(before, reading)
  if (requests.length === 0) return {type: 'which-order'}
  // "Only 10 €" after proposals for two orders could mean either of them.
  if (reading.requests.length === 0 && requests.length > 1 && reading.amount) return {type: 'which-order'}
  return {
    type: 'refund',
    requests: requests.map(request => ({...request, amount: request.amount ?? amount})),
    reason: reading.reason ?? previous?.reason ?? (reading.requests.length === 0 ? lastReason(before) : null),
    draft: [reading.verb, previous?.verb].includes('broken') || reading.reason !== null,
    text: [previous?.text ?? '', reading.text].join('\n'),
  }
}

function inherited(before: Turn[], reading: Reading): Request[] {
  if (reading.amount) {
    const refunds = lastRefunds(before)
    if (refunds.length > 0) return refunds.map(({order}) => ({order, amount: null}))
  }
  return focus(before).map(order => ({order, amount: null}))
}

function withOrders(reading: Reading, before: Turn[], goal: (orders: string[]) => Goal): Goal {
  const orders = named(reading).length > 0 ? named(reading) : focus(before)
  return orders.length > 0 ? goal(orders) : {type: 'which-order'}
}

function named(reading: Reading): string[] {
  return [...reading.requests.map(request => request.order), ...reading.withdrawn]
}

/** The answer to "whose orders?" is often nothing but the name. */
function bareName(text: string): string | null {
  const name = text.trim().replace(/[.!]+$/, '')
  return /^[\p{L}'@.+\s-]{2,60}$/u.test(name) ? name : null
}
