import * as z from 'zod'
import {defineTool} from '../runtime/index.ts'

export const lookupOrder = defineTool({
  name: 'lookupOrder',
  description: 'Read one order: customer, items, total, delivery status, what was refunded and what can still be.',
  effect: 'read',
  input: z.object({orderId: z.string().min(1).max(20).describe('Like A17')}),
})

export const findOrders = defineTool({
  name: 'findOrders',
  description: "List a customer's orders by full name, first name or e-mail address.",
  effect: 'read',
  input: z.object({customer: z.string().min(1).max(120)}),
})

export const draftReply = defineTool({
  name: 'draftReply',
  description:
    'Write the reply to the customer into the shared draft. With `instead`, replace only that passage, so that what the person edited around it stays.',
  effect: 'local',
  input: z.object({text: z.string().min(1).max(4000), instead: z.string().min(1).max(4000).optional()}),
})

export const addToPlan = defineTool({
  name: 'addToPlan',
  description: 'Add one step at the end of the shared plan, unless it is there already; what the person wrote stays.',
  effect: 'local',
  input: z.object({step: z.string().min(1).max(500)}),
})

export const refundOrder = defineTool({
  name: 'refundOrder',
  description:
    'Propose to pay money back for one order. The server checks it against the order and the policy; larger amounts wait for a team lead.',
  effect: 'external',
  input: z.object({orderId: z.string().min(1).max(20), cents: z.int().positive(), reason: z.string().min(1).max(500)}),
})

export const deskTools = [lookupOrder, findOrders, draftReply, addToPlan, refundOrder] as const

/** Up to here the policy authorises a refund by itself; above, the role below decides. */
export const policyLimitCents = 5_000
/** What the policy authorises by itself for one person in a day, over all orders. */
export const policyDayLimitCents = 10_000
export const approverRole = 'approver'
/** Above this two approvers have to say yes. */
export const twoPersonLimitCents = 30_000
/** Asked as well when nobody has decided for a while. */
export const escalationRole = 'head'
