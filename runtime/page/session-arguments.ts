import * as z from 'zod'
import {busyPolicySchema} from '../protocol/busy-policy.ts'
import {divergenceChoices} from '../protocol/divergence.ts'
import {historyRequestSchema} from '../protocol/history-request.ts'
import {correlationIdSchema, eventIdSchema, sessionIdSchema} from '../protocol/ids.ts'
import {sessionTitleSchema} from '../protocol/session.ts'
import {limits} from '../protocol/version.ts'

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
  title: sessionTitleSchema.optional(),
  policy: busyPolicySchema.optional(),
  id: sessionIdSchema.optional(),
})

export const historyOptions = historyRequestSchema
export const forkOptions = z.strictObject({after: z.int().min(1)})
/** The position of a confirmed event; 0 is before the first. */
export const position = z.int().min(0)
export const onlineState = z.boolean()
const reason = z.string().max(limits.reasonCharacters, `expected at most ${limits.reasonCharacters} characters`)
export const reasonText = reason.optional()
export const migration = z.strictObject({
  version: z.string().min(1).max(limits.titleCharacters),
  reason: reason.min(1).default('Moved by a person.'),
})
export const divergenceChoice = z.enum(divergenceChoices)
