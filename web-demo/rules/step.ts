import {type LookupOutput, lookupOutputSchema} from '../tool-outputs.ts'
import {type Call, callsOf} from './conversation.ts'
import {listed} from './describe.ts'
import {reasonIn} from './outcome.ts'

export type PlannedCall = {tool: string; input: Record<string, unknown>}
/** The next reply: something to say, and the calls to make; no calls means that the turn is over. */
export type Plan = {text: string; calls: PlannedCall[]}

export function say(text: string): Plan {
  return {text, calls: []}
}

/** Calls for the orders that were not looked up since the instruction, or null when all were. */
export function lookups(orders: string[], work: Call[]): Plan | null {
  const known = new Set(callsOf(work, 'lookupOrder').map(call => String(call.input.orderId)))
  const missing = [...new Set(orders)].filter(order => !known.has(order))
  if (missing.length === 0) return null
  return {
    text: `Let me look at ${missing.length > 1 ? 'orders' : 'order'} ${listed(missing)}.`,
    calls: missing.map(orderId => ({tool: 'lookupOrder', input: {orderId}})),
  }
}

/** The latest lookup of an order; a failed one counts as unavailable, with its reason. */
export function lookedUp(order: string, work: Call[]): LookupOutput {
  const call = callsOf(work, 'lookupOrder').findLast(({input}) => input.orderId === order)
  const output = lookupOutputSchema.safeParse(call?.result?.value)
  return output.success ? output.data : {unavailable: (call && reasonIn(call)) ?? 'the lookup failed'}
}
