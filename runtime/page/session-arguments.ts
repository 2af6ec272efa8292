import * as z from 'zod'
import {busyPolicySchema} from '../protocol/busy-policy.ts'
import {correlationIdSchema, eventIdSchema, sessionIdSchema} from '../protocol/ids.ts'

/**
 * What callers pass to runtime and session. Unknown fields are refused: a misspelt `policy` would otherwise be ignored,
 * and a message that should interrupt would wait.
 */
export const sendOptions = z
  .strictObject({
    policy: busyPolicySchema.optional(),
    correlation: correlationIdSchema.optional(),
    id: eventIdSchema.optional(),
  })
  .default({})

export const knownSession = z.strictObject({session: sessionIdSchema})
export const newSession = z.strictObject({
  agent: z.string(),
  title: z.string().optional(),
  policy: busyPolicySchema.optional(),
  id: sessionIdSchema.optional(),
})

export const historyOptions = z.strictObject({before: z.string(), limit: z.number().optional()})
export const forkOptions = z.strictObject({after: z.number()})
export const migration = z.strictObject({version: z.string(), reason: z.string().default('Moved by a person.')})
export const onlineState = z.boolean()
export const reasonText = z.string().optional()

export function listenerSchema<Value>() {
  return z.custom<(value: Value) => void>(value => typeof value === 'function', 'expected a function')
}
