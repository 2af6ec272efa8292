import {type FindOutput, findOutputSchema, type LookupOutput} from '../tool-outputs.ts'
import {unknownOrder, unseen} from './assess.ts'
import {lastRefundCalls} from './context.ts'
import {type Conversation, callsOf} from './conversation.ts'
import {describeList, describeOrder, listed} from './describe.ts'
import {type Fixed, type Goal, goalOf} from './goal.ts'
import {letter} from './letter.ts'
import {outcomeOf, outcomeSentence, reasonIn} from './outcome.ts'
import {planRefund} from './plan-refund.ts'
import {fromMemory, signatureIn} from './remembered.ts'
import {lookedUp, lookups, type Plan, say} from './step.ts'

const abilities = `I look orders up, list a customer's orders, write the reply to the customer and propose refunds. For example: “Where is order A17?”, “Refund 20 € of A17” or “The mug in A17 arrived broken”.`

export function planReply(conversation: Conversation): Plan {
  const goal = goalOf(conversation)
  const plan = withMemory(planFor(goal, conversation), goal, conversation)
  if (conversation.skipped === 0 || conversation.work.length > 0) return plan
  // Two messages read as one would mix up their orders and amounts, so only one counts, and that is said.
  return {...plan, text: `I go by your newest message. ${plan.text}`}
}

const usesMemory: readonly Goal['type'][] = ['refund', 'status', 'list', 'draft', 'outcome']

/** The last word of a turn says what memory brought into it; what is answered whatever the records say uses none. */
function withMemory(plan: Plan, goal: Goal, {remembered}: Conversation): Plan {
  if (plan.calls.length > 0 || remembered.length === 0 || !usesMemory.includes(goal.type)) return plan
  return {...plan, text: `${plan.text}\n\n${fromMemory(remembered)}`}
}

function planFor(goal: Goal, conversation: Conversation): Plan {
  switch (goal.type) {
    case 'refund':
      return planRefund(goal, conversation)
    case 'status':
      return planStatus(goal, conversation)
    case 'list':
      return planList(goal.customer, conversation)
    case 'draft':
      return planDraft(goal, conversation)
    case 'withdraw':
      return say(withdrawalWords(goal.orders, conversation))
    case 'outcome':
      return planOutcome(goal, conversation)
    case 'recall':
      return say(recallWords(conversation))
    default:
      return say(fixedWords[goal.type])
  }
}

function recallWords({remembered}: Conversation): string {
  return remembered.length > 0
    ? fromMemory(remembered)
    : 'I remember nothing that has to do with these words. Everything that is kept stands on the [Memory page](/memory).'
}

const fixedWords: Record<Fixed, string> = {
  noted:
    'I propose it to your memory. The [Memory page](/memory) shows what came of it; from then on it counts in every conversation, and there you can correct or forget it.',
  greet: `Hello. ${abilities}`,
  help: abilities,
  thanks: 'You are welcome.',
  left: 'All right, I leave it as it is.',
  unknown: `I did not understand that. I follow fixed rules and read English only. ${abilities}`,
  'which-order': 'An order number looks like A17. Which order is it?',
  'which-customer': 'A name or an e-mail address will do. Whose orders do you mean?',
}

function planStatus(goal: Extract<Goal, {type: 'status'}>, {work}: Conversation): Plan {
  const first = lookups(goal.orders, work)
  if (first) return first
  const words = goal.orders.map(order => orderWords(order, lookedUp(order, work)))
  if (!goal.understood) words.push('I understood the order number but not what you want done with it.')
  return say(words.join('\n\n'))
}

function orderWords(order: string, looked: LookupOutput): string {
  if ('unavailable' in looked) return unseen(order)
  return looked.found ? describeOrder(looked) : unknownOrder(order)
}

function planList(customer: string, {work}: Conversation): Plan {
  const call = callsOf(work, 'findOrders').at(-1)
  if (!call) return {text: `Let me find the orders of ${customer}.`, calls: [{tool: 'findOrders', input: {customer}}]}
  const output = findOutputSchema.safeParse(call.result?.value)
  return say(listWords(customer, output.success ? output.data : {unavailable: reasonIn(call) ?? ''}))
}

function listWords(customer: string, found: FindOutput): string {
  if ('unavailable' in found) {
    return `I cannot see the orders of ${customer} now: the server cannot be reached and this device has no copy of them.`
  }
  return found.found ? describeList(found) : `I found no orders of ${customer}. Could you check the spelling?`
}

function planDraft(goal: Extract<Goal, {type: 'draft'}>, {work, remembered}: Conversation): Plan {
  const first = lookups(goal.orders.slice(0, 1), work)
  if (first) return first
  const id = goal.orders[0] ?? ''
  const looked = lookedUp(id, work)
  if ('unavailable' in looked || !looked.found) return say(orderWords(id, looked))
  const call = callsOf(work, 'draftReply').at(-1)
  if (call)
    return say(
      call.result?.outcome === 'ok'
        ? 'The reply is in the draft; change it as you like.'
        : 'The draft could not be written.',
    )
  return {
    text: `I write to ${looked.order.customer.name}.`,
    calls: [
      {
        tool: 'draftReply',
        input: {
          text: letter(looked.order, {reason: goal.reason, refund: null, signature: signatureIn(remembered)}),
        },
      },
    ],
  }
}

function withdrawalWords(orders: string[], {before}: Conversation): string {
  const calls = lastRefundCalls(before).filter(
    ({input}) => orders.length === 0 || orders.includes(String(input.orderId)),
  )
  if (calls.length === 0)
    return `Nothing is proposed${orders.length > 0 ? ` for ${listed(orders)}` : ''}, so there is no refund to withdraw.`
  const words = calls.map(outcomeSentence)
  if (calls.some(call => outcomeOf(call) === 'executed'))
    words.push('Money that was paid out stays paid; I cannot take it back.')
  return words.join(' ')
}

/** "What happened to the refund?": from the record when there is one, else from the order itself. */
function planOutcome(goal: Extract<Goal, {type: 'outcome'}>, conversation: Conversation): Plan {
  const {before} = conversation
  const calls = lastRefundCalls(before).filter(
    ({input}) => goal.orders.length === 0 || goal.orders.includes(String(input.orderId)),
  )
  if (calls.length > 0) return say(calls.map(outcomeSentence).join(' '))
  if (goal.orders.length === 0) return say('I have proposed no refund in this conversation. Which order do you mean?')
  return planStatus({type: 'status', orders: goal.orders, understood: true}, conversation)
}
