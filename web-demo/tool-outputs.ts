import * as z from 'zod'
import {orderLineSchema, orderSchema} from './shop/order.ts'

/** Where an answer came from, so that whoever reads it can say how fresh it is. [FACT-2] */
const freshness = {source: z.enum(['server', 'replica']), ageMs: z.number(), asOf: z.string()}
const unavailable = z.object({unavailable: z.string()})

export const lookupOutputSchema = z.union([
  unavailable,
  z.object({found: z.literal(true), order: orderSchema, ...freshness}),
  z.object({found: z.literal(false), orderId: z.string()}),
])
export type LookupOutput = z.infer<typeof lookupOutputSchema>

export const findOutputSchema = z.union([
  unavailable,
  z.object({found: z.literal(true), customer: z.string(), orders: z.array(orderLineSchema), ...freshness}),
  z.object({found: z.literal(false), customer: z.string()}),
])
export type FindOutput = z.infer<typeof findOutputSchema>

export const draftOutputSchema = z.object({written: z.boolean(), why: z.string().optional()})

/** "now, from the server" or "3 minutes ago, from this device's copy". */
export function asOf(reading: {source: 'server' | 'replica'; ageMs: number}): string {
  return reading.source === 'server' ? 'now, from the server' : `${ago(reading.ageMs)}, from this device's copy`
}

export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return 'less than a minute ago'
  if (seconds < 3600) return count(Math.round(seconds / 60), 'minute')
  if (seconds < 86_400) return count(Math.round(seconds / 3600), 'hour')
  return count(Math.round(seconds / 86_400), 'day')
}

function count(n: number, unit: string): string {
  return `${n} ${unit}${n === 1 ? '' : 's'} ago`
}
