import * as z from 'zod'
import {type Bound, runUsageSchema} from './budget.ts'
import {
  approvalIdSchema,
  deviceIdSchema,
  operationIdSchema,
  runIdSchema,
  sessionIdSchema,
  subjectIdSchema,
} from './ids.ts'
import {operationStatuses} from './operation.ts'
import type {Legal, Passport} from './passport.ts'
import {pinSchema} from './pin.ts'
import {resumedFromSchema, runStatuses} from './run.ts'
import type {StandingEffects} from './standing-effects.ts'

const count = z.int().nonnegative()

/** Answer of `GET /v1/sessions/:session/effects`. [RUN-6] */
export const standingEffectsSchema: z.ZodType<StandingEffects> = z.strictObject({
  effects: z.array(
    z.strictObject({
      session: sessionIdSchema,
      operation: operationIdSchema,
      tool: z.string(),
      status: z.enum(['started', 'uncertain', 'executed']),
      receipt: z.string().nullable(),
      seq: z.int().positive(),
    }),
  ),
  missing: z.array(sessionIdSchema),
})

const approvalSchema = z.strictObject({
  id: approvalIdSchema,
  role: z.string(),
  reason: z.string(),
  expiresAt: z.number(),
  approvers: z.int().positive(),
  endorsedBy: z.array(subjectIdSchema),
  voices: z.array(subjectIdSchema),
  escalatedTo: z.string().nullable(),
})

const boundSchema: z.ZodType<Bound> = z.strictObject({
  name: z.enum(['steps', 'calls', 'tokens', 'cost', 'wall']),
  used: z.number().nullable(),
  limit: z.number().nullable(),
  applies: z.boolean(),
  why: z.string().nullable(),
})

const legalSchema: z.ZodType<Legal> = z.strictObject({legal: z.boolean(), why: z.string()})

/** Answer of `GET /v1/runs/:run/passport`. [ID-5] */
export const passportSchema: z.ZodType<Passport> = z.strictObject({
  session: sessionIdSchema,
  run: runIdSchema,
  attempt: z.int().positive(),
  status: z.enum(runStatuses),
  pin: pinSchema,
  custody: z.strictObject({holder: deviceIdSchema.nullable(), epoch: count}),
  resumedFrom: resumedFromSchema.nullable(),
  branch: z
    .strictObject({from: z.strictObject({session: sessionIdSchema, seq: count}), standing: standingEffectsSchema})
    .nullable(),
  lastConfirmed: count,
  checkpoint: z.strictObject({
    step: z.string().nullable(),
    steps: count,
    openCalls: z.array(z.strictObject({call: z.string(), tool: z.string()})),
  }),
  operations: z.array(
    z.strictObject({
      id: operationIdSchema,
      tool: z.string(),
      status: z.enum(operationStatuses),
      approval: approvalSchema.nullable(),
    }),
  ),
  usage: runUsageSchema,
  bounds: z.array(boundSchema),
  wakesAt: z.number().nullable(),
  pending: z.array(z.string()),
  rejected: z.array(z.strictObject({event: z.string(), kind: z.string(), reason: z.string()})),
  may: z.strictObject({
    resume: legalSchema,
    retry: legalSchema,
    extend: legalSchema,
    migrate: legalSchema,
    correct: legalSchema,
    fork: legalSchema,
    cancel: legalSchema,
  }),
})
