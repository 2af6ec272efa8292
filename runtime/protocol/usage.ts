import * as z from 'zod'

const count = z.number().nonnegative()

/** What one model took: tokens as its provider counted them, or as we did for `estimated` calls. */
export const modelUsageSchema = z.strictObject({
  model: z.string(),
  calls: count,
  estimated: count,
  inputTokens: count,
  outputTokens: count,
  /** Millionths of the currency that the server's prices are in. */
  costMicros: count,
})

/** A bound of the tenant's budget, and how much of it the last `windowMs` took. */
export const limitUsageSchema = z.strictObject({
  windowMs: count,
  tokens: count.nullable(),
  costMicros: count.nullable(),
  usedTokens: count,
  usedCostMicros: count,
})

/** Answer of `GET /v1/usage`: what was asked of models within a time, and what came of it. [OBS-3, BUD-1] */
export const usageAnswerSchema = z.strictObject({
  scope: z.enum(['own', 'tenant']),
  /** Milliseconds since 1970; `to` is excluded. */
  from: z.number(),
  to: z.number(),
  models: z.array(modelUsageSchema),
  tasks: z.strictObject({
    completed: count,
    partial: count,
    failed: count,
    cancelled: count,
    failedOnce: count,
    /** Runs that failed and could be retried, went on in another process, or had an effect refused to them. */
    metTrouble: count,
    /** Of these, the ones that completed all the same. */
    recovered: count,
    /** From start to end of the runs that completed, people's decisions included: half took at most so long, and 95 of 100. */
    latencyMs: z.strictObject({p50: count, p95: count}).nullable(),
    /** All that the ended runs took, the failed ones too, for each that completed; null when none did. */
    perCompleted: z
      .strictObject({steps: count, inputTokens: count, outputTokens: count, costMicros: count, durationMs: count})
      .nullable(),
    /** Share of the runs that met trouble and completed all the same; null when none did. */
    recoveryRate: count.nullable(),
  }),
  limits: z.array(limitUsageSchema),
})
export type UsageAnswer = z.infer<typeof usageAnswerSchema>
