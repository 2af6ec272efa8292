import * as z from 'zod'
import {
  amountOf,
  checkOptions,
  embedderSchema,
  environmentSchema,
  filledText,
  functionSchema,
  havingMethods,
  pauseMs,
  positiveMs,
  valueThat,
} from '../runtime/protocol/check-options.ts'
import {chosenSchema} from '../runtime/protocol/field-faults.ts'
import {operationSchema} from './check-operations.ts'
import type {DataLayer} from './data-layer.ts'
import type {FactSource} from './facts.ts'
import {budgetsOptionSchema, modelsSchema} from './models/check-models.ts'
import type {GatewayLimits} from './models/gateway.ts'
import type {Rate} from './rate-limit.ts'
import type {Retention} from './retention.ts'
import type {SyncServerOptions} from './server-options.ts'

/**
 * Validates the options of `createSyncServer`. A limit of NaN or Infinity would disable the limit, and a misspelt
 * name would be ignored.
 *
 * @throws HoldfastError `misconfigured` naming every invalid option
 */
export function checkServerOptions(options: unknown): void {
  checkOptions(serverOptionsSchema, options, 'createSyncServer')
}

type Shape<Options> = Record<keyof Options, z.ZodType>

const storeSchema = valueThat('a store, as openPgStore resolves to it', value =>
  ['sessions', 'ledger', 'approvals', 'health'].every(part => typeof partOf(value, part) === 'object'),
)

function partOf(value: unknown, part: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined
}

const factsSchema = z.looseObject({
  read: functionSchema,
  readMany: functionSchema.optional(),
  version: functionSchema.optional(),
  changes: functionSchema.optional(),
} satisfies Shape<FactSource>)

const layerSchema = z.looseObject({
  name: filledText,
  derived: z.boolean().optional(),
  kept: z.string().optional(),
  erase: functionSchema,
  rewriteFiles: functionSchema.optional(),
  expiry: z.looseObject({rule: z.enum(['views', 'tokenStreams', 'memory']), before: functionSchema}).optional(),
  records: functionSchema,
} satisfies Shape<DataLayer>)

const rateSchema = z.strictObject({perSecond: z.number().positive(), burst: z.number().min(1)} satisfies Shape<Rate>)
const count = amountOf(1)
const room = amountOf(0)

const gatewaySchema = z
  .strictObject({
    graceMs: pauseMs,
    leaseMs: positiveMs,
    generationMs: positiveMs,
    firstPartMs: positiveMs,
    silenceMs: positiveMs,
    pollMs: positiveMs,
    parts: count,
    bytes: count,
  } satisfies Shape<GatewayLimits>)
  .partial()

const limitsSchema = z.strictObject({
  bodyBytes: count.optional(),
  bodies: z.strictObject({subject: count.optional(), process: count.optional()}).optional(),
  blobs: z.strictObject({sessionBytes: room.optional(), tenantBytes: room.optional()}).optional(),
  sweepMs: positiveMs.optional(),
  heartbeatMs: positiveMs.optional(),
  streams: z.strictObject({subject: room.optional(), tenant: room.optional()}).optional(),
  rates: z.strictObject({subject: rateSchema.optional(), tenant: rateSchema.optional()}).optional(),
  models: gatewaySchema.optional(),
} satisfies Shape<NonNullable<SyncServerOptions['limits']>>)

const daysSchema = z.strictObject({
  days: valueThat('a positive number of days', days => Number.isFinite(days) && Number(days) > 0),
})
const rule = (otherwise: string) =>
  chosenSchema(value => (typeof value === 'object' ? daysSchema : z.literal(otherwise))).optional()

const retentionSchema = z.strictObject({
  connections: z.literal('not stored').optional(),
  transcripts: rule('for ever'),
  runs: z.literal('with the transcript').optional(),
  documents: z.literal('with the transcript').optional(),
  blobs: z.literal('with the transcript').optional(),
  views: rule('with the transcript'),
  tokenStreams: rule('with the transcript'),
  memory: rule('for ever'),
  receipts: rule('for ever'),
  audit: rule('for ever'),
} satisfies Shape<Retention>)

const erasureSchema = z.strictObject({
  rewriteFiles: z.boolean().optional(),
  rewriteEveryMs: z.number().min(0).optional(),
  rewriteWithinMs: z.number().min(0).optional(),
  filesGoneAfterMs: z.number().min(0).optional(),
} satisfies Shape<NonNullable<SyncServerOptions['erasure']>>)

/** Browsers send an origin without path and trailing slash. */
const originSchema = valueThat(
  'an origin like "https://shop.example", or "*"',
  value => typeof value === 'string' && (value === '*' || /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/i.test(value)),
)

const serverOptionsSchema = z.strictObject({
  store: storeSchema,
  authenticate: functionSchema,
  facts: factsSchema.optional(),
  operations: z.record(z.string(), operationSchema).optional(),
  models: modelsSchema.optional(),
  memory: z.strictObject({policy: functionSchema.optional(), embedder: embedderSchema.optional()}).optional(),
  budgets: budgetsOptionSchema.optional(),
  environment: environmentSchema.optional(),
  bus: havingMethods('a bus with publish and subscribe', ['publish', 'subscribe']).optional(),
  notify: z
    .strictObject({
      webhooks: z.array(z.strictObject({url: filledText, secret: filledText, events: z.array(z.string())})),
    })
    .optional(),
  sharesDatabase: z.boolean().optional(),
  limits: limitsSchema.optional(),
  layers: z.array(layerSchema).optional(),
  roles: z
    .strictObject({operator: filledText.optional(), auditor: filledText.optional(), publisher: filledText.optional()})
    .optional(),
  retention: retentionSchema.optional(),
  erasure: erasureSchema.optional(),
  cors: z.strictObject({origins: z.array(originSchema)}).optional(),
  metrics: z.strictObject({authorise: functionSchema}).optional(),
  log: functionSchema.optional(),
  onFault: functionSchema.optional(),
} satisfies Shape<SyncServerOptions>)
