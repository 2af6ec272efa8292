import * as z from 'zod'
import {contextOverflowSchema} from './context-overflow.ts'
import {runIdSchema, sessionIdSchema, stepIdSchema} from './ids.ts'

/**
 * Names one try of one model call. The device makes it from its own records, so a reloaded tab or another worker makes
 * the same one and is attached to the generation that is already paid for. `try` counts the tries of one step within
 * one attempt of its run: a try that failed is never taken up again, the next one is another call. [CUS-5, BUD-1]
 */
export const modelCallSchema = z.strictObject({
  session: sessionIdSchema,
  run: runIdSchema,
  step: stepIdSchema,
  attempt: z.int().positive(),
  try: z.int().positive().max(100),
})
export type ModelCallName = z.infer<typeof modelCallSchema>

/** The name under which a model's call options carry it, among the options for providers. */
export const modelCallOption = 'holdfast'

/** The idempotency key of a call: one generation for ever under one key of one subject. */
export function modelCallKey({run, step, attempt, try: tries}: Omit<ModelCallName, 'session'>): string {
  return `${run}.${step}.${attempt}.${tries}`
}

export const modelCallKeySchema = z
  .string()
  .regex(/^run_[0-9a-f-]{36}\.stp_[0-9a-f-]{36}\.\d{1,9}\.\d{1,3}$/, 'expected the key of a model call')

/** Why a generation failed; `retryable` in the same error says whether another try may go better. */
export const modelFailureReasons = [
  'rate_limited',
  'unavailable',
  'timeout',
  'content_filter',
  'refused',
  'broken',
  'too_large',
  'aborted',
  'lost',
  'forgotten',
] as const
export type ModelFailureReason = (typeof modelFailureReasons)[number]

/** The last part of a generation that did not finish. */
export const modelFailureSchema = z.object({
  message: z.string(),
  retryable: z.boolean(),
  reason: z.enum(modelFailureReasons),
  /** Milliseconds before which another try is pointless, as the provider says. */
  retryAfterMs: z.number().nonnegative().optional(),
  /** The prompt is longer than the model accepts; a shorter one may succeed. */
  overflow: contextOverflowSchema.optional(),
})
export type ModelFailure = z.infer<typeof modelFailureSchema>
