import * as z from 'zod'
import {errorBodySchema} from './errors.ts'
import {memoryIdSchema} from './ids.ts'
import {memoryItemSchema} from './memory.ts'
import {limits} from './version.ts'

/**
 * Memory's part of the exchange; every route is the subject's own, and an id of somebody else answers like an unknown one.
 *
 *   device                                        server
 *     │ POST /v1/memory/proposals {proposals} ──────▶ decides each by the application's policy [MEM-2]
 *     │ ◀──── {verdicts}                              sent again: `duplicate`, with what has become of it [MEM-4]
 *     │ GET  /v1/memory/items?after=cursor ─────────▶ items changed since, oldest change first; repeat while `more`.
 *     │                                               What was forgotten comes as an id alone [MEM-3]
 *     │ POST /v1/memory/items/:id/change ───────────▶ a person accepts, corrects or forgets; the item as it then stands
 *     │ POST /v1/memory/recall {query, key, limit} ─▶ what is valid now; a body, since a question is not for URLs
 *     │ ◀──── event: memory {} on /v1/live            something changed: pull
 */
export const memoryPushSchema = z.strictObject({
  proposals: z
    .array(z.unknown())
    .min(1, 'expected at least one proposal')
    .max(limits.memoryBatch, `expected at most ${limits.memoryBatch} proposals in a batch`),
})

export const memoryVerdictSchema = z.discriminatedUnion('status', [
  /** In force from now on: the policy accepted it. */
  z.strictObject({status: z.literal('accepted'), id: memoryIdSchema}),
  /** Kept until a person decides. */
  z.strictObject({status: z.literal('proposed'), id: memoryIdSchema}),
  /** Not kept: the policy will not have it, or it is known already. */
  z.strictObject({status: z.literal('refused'), id: memoryIdSchema, reason: z.string()}),
  /** It came before; nothing was changed by this delivery. */
  z.strictObject({status: z.literal('duplicate'), id: memoryIdSchema}),
  /** Nothing was kept of it, and the same proposal will not do better. */
  z.strictObject({status: z.literal('rejected'), id: z.string(), error: errorBodySchema}),
])
export type MemoryProposalVerdict = z.infer<typeof memoryVerdictSchema>

export const memoryPushAnswerSchema = z.strictObject({verdicts: z.array(memoryVerdictSchema)})
export type MemoryPushAnswer = z.infer<typeof memoryPushAnswerSchema>

export const memoryPageSchema = z.strictObject({
  items: z.array(memoryItemSchema),
  /** Where the next page starts; lower than what was asked when the server's memory is not the one known. */
  cursor: z.int().nonnegative(),
  more: z.boolean(),
})
export type MemoryPage = z.infer<typeof memoryPageSchema>

export const memoryChangeAnswerSchema = z.strictObject({item: memoryItemSchema})
