import * as z from 'zod'
import {amountOf, functionSchema} from '../../runtime/protocol/check-options.ts'
import {chosenSchema} from '../../runtime/protocol/field-faults.ts'
import {modelFault} from '../../runtime/protocol/model-fault.ts'
import {isOffer, type ModelAllowance, type ModelOffer, type ModelPrices, type TenantBudget} from './config.ts'

type Shape<Options> = Record<keyof Options, z.ZodType>

const modelSchema = z.custom(model => modelFault(model) === null, {
  error: ({input}) => modelFault(input) ?? 'expected a model',
})

const price = z.number().min(0)
const pricesSchema = z.strictObject({
  inputPerMTok: price,
  outputPerMTok: price,
  cachedInputPerMTok: price.optional(),
} satisfies Shape<ModelPrices>)

const allowanceSchema = z.strictObject({
  maxOutputTokens: amountOf(1).optional(),
  providerOptions: z.record(z.string(), z.array(z.string())).optional(),
  providerTools: z.array(z.string()).optional(),
  reasoning: z.boolean().optional(),
} satisfies Shape<ModelAllowance>)

const offerSchema = z.strictObject({
  model: modelSchema,
  prices: pricesSchema.optional(),
  allow: allowanceSchema.optional(),
} satisfies Shape<ModelOffer>)

/** Models by name. Each is a model, or an offer: a model with prices and the options that devices may use. */
export const modelsSchema = z.record(
  z.string(),
  chosenSchema(value => (isOffer(value) ? offerSchema : modelSchema)),
)

const budgetSchema = z
  .strictObject({
    windowMs: amountOf(1),
    tokens: z.number().min(0).optional(),
    cost: z.number().min(0).optional(),
  } satisfies Shape<TenantBudget>)
  .refine(({tokens, cost}) => tokens !== undefined || cost !== undefined, 'expected tokens or cost to be bounded')

/** A list of budgets for every tenant, or a function that returns the list of a tenant. */
export const budgetsOptionSchema = chosenSchema(value =>
  typeof value === 'function' ? functionSchema : z.array(budgetSchema),
)
