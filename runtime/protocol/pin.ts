import * as z from 'zod'
import {busyPolicySchema} from './busy-policy.ts'
import {correlationIdSchema} from './ids.ts'
import {jsonObjectSchema} from './json.ts'
import {pinnedToolSchema, sha256Schema} from './tool.ts'

/** What a million tokens cost: known to the host, not to the model. Without it no bound on cost can apply. */
export const pricesSchema = z.strictObject({
  currency: z.string().min(1).max(10),
  inputPerMillion: z.number().nonnegative(),
  outputPerMillion: z.number().nonnegative(),
  /** Price of input that the provider read from its cache. Default: `inputPerMillion`. */
  cachedInputPerMillion: z.number().nonnegative().optional(),
})
export type Prices = z.infer<typeof pricesSchema>

/** Sent with every model call of the run. */
export const modelSettingsSchema = z.strictObject({
  temperature: z.number().min(0).max(10).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.int().positive().optional(),
  maxOutputTokens: z.int().positive().optional(),
  seed: z.int().optional(),
})
export type ModelSettings = z.infer<typeof modelSettingsSchema>

export const modelProfileSchema = z.strictObject({
  /** `provider/model`, by which a resumed run finds the same model or none. */
  label: z.string().min(1).max(200),
  prices: pricesSchema.optional(),
  settings: modelSettingsSchema.optional(),
})
export type ModelProfile = z.infer<typeof modelProfileSchema>

/** Bounds of one run. The loop keeps them, never the model. [BUD-1] */
export const budgetsSchema = z.strictObject({
  maxSteps: z.int().min(1).max(1000),
  maxToolCallsPerStep: z.int().min(1).max(128),
  maxToolCalls: z.int().min(1).max(10_000),
  /** Input and output tokens of all model calls, as the provider counts them. */
  maxTokens: z.int().min(1),
  /** In the currency of the model's prices; null for no bound. */
  maxCost: z.number().positive().nullable(),
  /** Milliseconds from the run's start; waiting for a person and sleeping do not count. */
  wallMs: z.int().min(1),
  /** Estimated tokens that a prepared view may hold. */
  viewTokens: z.int().min(256),
  /** Share of `viewTokens` at which earlier turns are summarised. Default: 0.75. [VIEW-3] */
  compactAt: z.number().positive().max(1).optional(),
  /** Maximum milliseconds between two parts of a reply, and before the first unless `modelFirstMs` is set. */
  modelCallMs: z.int().min(1),
  /** Maximum milliseconds until the first part of a reply. Default: `modelCallMs`. */
  modelFirstMs: z.int().min(1).optional(),
  /** Maximum milliseconds of one model call from start to finish. Default: 30 minutes. */
  modelTotalMs: z.int().min(1).optional(),
  /** How many consecutive cut or empty replies the model is asked to continue. Default: 2. */
  maxContinuations: z.int().min(0).max(20).optional(),
  /** Milliseconds that one read or local tool call may take. */
  toolCallMs: z.int().min(1),
  /** What hitting a bound of the run comes to: it ends with what it has, or a person is asked. [BUD-2] */
  onBound: z.enum(['partial', 'escalate']),
})
export type Budgets = z.infer<typeof budgetsSchema>

/** How the person's messages and the server's approvals are treated, under a name that a reader can look up. */
export const policyProfileSchema = z.strictObject({
  name: z.string().min(1).max(100),
  busy: busyPolicySchema,
  /** What the application declares about approvals; only the server decides on them. */
  approval: jsonObjectSchema,
})

export const defaultContinuations = 2

export const memoryProfileSchema = z.strictObject({
  name: z.string().min(1).max(100),
  /** Memory items that a view may hold. */
  maxItems: z.int().min(0).max(1000),
})
export type MemoryProfile = z.infer<typeof memoryProfileSchema>

/** Which rule chose this agent and version, and the version of the table that the rule stands in. */
export const routeSchema = z.strictObject({
  rule: z.string().min(1).max(100),
  table: z.string().min(1).max(100),
  /** Age in milliseconds of the device's copy of the registry, when the rule had to rely on it offline. */
  registryAgeMs: z.number().nonnegative().optional(),
})
export type Route = z.infer<typeof routeSchema>

/** What may change in a pin, and only by a person's recorded decision. [PIN-3] */
const versionParts = {
  version: z.string().min(1).max(50),
  tools: z.array(pinnedToolSchema).max(200),
  /** Hash of the tools in their order, as the model sees them. */
  toolsHash: sha256Schema,
  /** Hash of the instructions, so that a changed text under the same version is noticed. Earlier builds omit it. */
  instructionsHash: sha256Schema.optional(),
  model: modelProfileSchema,
}
export const pinnedVersionSchema = z.strictObject(versionParts)
export type PinnedVersion = z.infer<typeof pinnedVersionSchema>

/** Everything a run may not change its mind about while it lives. [PIN-1] */
export const pinSchema = z.strictObject({
  agent: z.string().min(1).max(100),
  ...versionParts,
  policy: policyProfileSchema,
  budgets: budgetsSchema,
  memory: memoryProfileSchema,
  route: routeSchema,
  /** Ties the run to what caused it elsewhere: a ticket, a request, another run. */
  correlation: correlationIdSchema,
})
export type Pin = z.infer<typeof pinSchema>
