import {euros} from '../money.ts'
import {policyLimitCents} from '../tools.ts'
import {type Assessment, assess} from './assess.ts'
import {lastRefundCalls, lastRefunds} from './context.ts'
import {type Call, type Conversation, callsOf} from './conversation.ts'
import {listed} from './describe.ts'
import type {Goal} from './goal.ts'
import {letter} from './letter.ts'
import {outcomeOf, outcomeSentence} from './outcome.ts'
import {signatureIn} from './remembered.ts'
import {lookedUp, lookups, type Plan, type PlannedCall, say} from './step.ts'

type RefundGoal = Extract<Goal, {type: 'refund'}>
type Proposal = Extract<Assessment, {propose: unknown}>['propose']

/** look up ─▶ assess ─▶ (write the letter) ─▶ propose ─▶ explain what became of it; each arrow is one reply. */
export function planRefund(goal: RefundGoal, conversation: Conversation): Plan {
  const {work} = conversation
  const orders = goal.requests.map(request => request.order)
  const first = lookups(orders, work)
  if (first) return first
  if (callsOf(work, 'refundOrder').length > 0) return afterwards(work)
  const assessed = goal.requests.map(request => assess(request, lookedUp(request.order, work), goal.text))
  const proposals = assessed.flatMap(one => ('propose' in one ? [one.propose] : []))
  const sayings = assessed.flatMap(one => ('say' in one ? [one.say] : []))
  if (proposals.length === 0) return say(sayings.join(' '))
  return draftStep(goal, proposals, conversation) ?? propose(goal, proposals, sayings, conversation)
}

function propose(goal: RefundGoal, proposals: Proposal[], sayings: string[], conversation: Conversation): Plan {
  const paid = alreadyPaid(conversation, proposals)
  if (paid) return say(paid)
  const words = proposals.map(({order, cents, about}) => `${euros(cents)} for ${order.id}${about ? ` (${about})` : ''}`)
  const waits = proposals.some(({cents}) => cents > policyLimitCents)
  return {
    text: [
      ...sayings,
      `I propose to refund ${listed(words)}.`,
      ...(waits ? [`Above ${euros(policyLimitCents)} a team lead has to approve it.`] : []),
    ].join(' '),
    calls: proposals.map(({order, cents}) => ({
      tool: 'refundOrder',
      input: {orderId: order.id, cents, reason: goal.reason ?? 'Asked for by support'},
    })),
  }
}

/** "Actually only 10 €" after 20 € went out: the first payment stands, so a second one needs a clear word. */
function alreadyPaid({before, instruction}: Conversation, proposals: Proposal[]): string | null {
  if (!/\b(?:actually|only|just|instead|rather|make it|change)\b/i.test(instruction)) return null
  const one = proposals[0]
  const paid = lastRefundCalls(before).find(call => call.input.orderId === one?.order.id)
  if (!one || !paid || outcomeOf(paid) !== 'executed') return null
  return `${outcomeSentence(paid)} That payment stands. Shall I propose another ${euros(one.cents)} for ${one.order.id}?`
}

/** Writes the letter once; when only the amount changes later, replaces only the amount. */
function draftStep(goal: RefundGoal, proposals: Proposal[], {before, work, remembered}: Conversation): Plan | null {
  if (callsOf(work, 'draftReply').length > 0) return null
  const one = proposals[0]
  if (!one) return null
  if (!goal.draft) return amendment(one, before)
  return {
    text: `I write the reply to ${one.order.customer.name} first.`,
    calls: [
      draft({
        text: letter(one.order, {
          reason: goal.reason,
          refund: {cents: one.cents},
          signature: signatureIn(remembered),
        }),
      }),
      {tool: 'addToPlan', input: {step: `Refund ${euros(one.cents)} for ${one.order.id}, then send the reply.`}},
    ],
  }
}

function amendment({order, cents}: Proposal, before: Conversation['before']): Plan | null {
  const previous = lastRefunds(before).find(refund => refund.order === order.id)
  const was = previous && 'cents' in previous.amount ? euros(previous.amount.cents) : null
  const letters = callsOf(before, 'draftReply').map(call => String(call.input.text))
  if (!was || was === euros(cents) || !letters.some(text => text.includes(was))) return null
  return {
    text: `I change the amount in the draft from ${was} to ${euros(cents)}.`,
    calls: [draft({text: euros(cents), instead: was})],
  }
}

function draft(input: {text: string; instead?: string}): PlannedCall {
  return {tool: 'draftReply', input}
}

/** Stale means the order is not what was read: read it again before saying anything about it. [OP-5] */
function afterwards(work: Call[]): Plan {
  const refunds = callsOf(work, 'refundOrder')
  const stale = refunds.filter(call => outcomeOf(call) === 'stale')
  const since = work.slice(work.findLastIndex(call => call.tool === 'refundOrder') + 1)
  const again = lookups(
    stale.map(call => String(call.input.orderId)),
    since,
  )
  if (again) return again
  return say([...refunds.map(outcomeSentence), ...stale.map(call => freshOffer(call, since))].join(' '))
}

function freshOffer(call: Call, since: Call[]): string {
  const order = String(call.input.orderId)
  const amount = {cents: Number(call.input.cents)}
  const now = assess({order, amount}, lookedUp(order, since), '')
  return 'say' in now
    ? now.say
    : `It is still possible. Shall I propose ${euros(now.propose.cents)} for ${order} again?`
}
