import type {TenantId} from '../../runtime/protocol/ids.ts'
import type {SpendingLimit, Spent} from '../storage/token-store.ts'
import type {LanguageModel} from './language-model.ts'

/** Prices per million tokens, in the billing currency. Costs are counted in millionths of it. */
export type ModelPrices = {
  inputPerMTok: number
  outputPerMTok: number
  /** Price of input that the provider read from its cache. Default: `inputPerMTok`. */
  cachedInputPerMTok?: number
}

/** What a device may request in addition to its prompt, function tools and sampling options. */
export type ModelAllowance = {
  /**
   * Maximum tokens of one reply. If set, it is also sent when a device requests no limit. Default: 65,536, sent only
   * if requested.
   */
  maxOutputTokens?: number
  /** Allowed option names by provider, for example `{openai: ['reasoningEffort']}`. Default: none. */
  providerOptions?: Readonly<Record<string, readonly string[]>>
  /** Ids of allowed tools that the provider runs, for example `openai.web_search`. Default: none. */
  providerTools?: readonly string[]
  /** Allows the call option `reasoning` of specification v4, the reasoning effort. Default: not allowed. */
  reasoning?: boolean
}
export type ModelOffer = {model: LanguageModel; prices?: ModelPrices; allow?: ModelAllowance}
/** Models by name. Calls of a model without prices have no cost; with prices they also count towards cost budgets. */
export type Models = Record<string, LanguageModel | ModelOffer>

/**
 * Budget of a tenant within the last `windowMs` (ms): tokens of prompts and replies, or cost in the currency of the
 * prices.
 */
export type TenantBudget = {windowMs: number; tokens?: number; cost?: number}
export type TenantBudgets =
  | readonly TenantBudget[]
  | ((tenant: TenantId) => readonly TenantBudget[] | Promise<readonly TenantBudget[]>)

export function offerOf(models: Models, name: string): ModelOffer | null {
  const offer = Object.hasOwn(models, name) ? models[name] : undefined
  if (!offer) return null
  return isOffer(offer) ? offer : {model: offer}
}

export function isOffer(value: unknown): value is ModelOffer {
  return typeof value === 'object' && value !== null && 'model' in value
}

/** Cost in millionths of the currency, rounded up so that a paid call never counts as free. */
export function costMicros(
  tokens: Pick<Spent, 'inputTokens' | 'outputTokens'> & {cachedTokens?: number},
  prices: ModelPrices | undefined,
): number {
  if (!prices) return 0
  const {inputTokens, outputTokens, cachedTokens = 0} = tokens
  const {inputPerMTok, outputPerMTok, cachedInputPerMTok = inputPerMTok} = prices
  const cached = Math.min(cachedTokens, inputTokens)
  return Math.ceil((inputTokens - cached) * inputPerMTok + cached * cachedInputPerMTok + outputTokens * outputPerMTok)
}

export async function limitsFor(budgets: TenantBudgets, tenant: TenantId): Promise<SpendingLimit[]> {
  const own = typeof budgets === 'function' ? await budgets(tenant) : budgets
  return own.map(({windowMs, tokens, cost}) => ({
    windowMs,
    tokens: tokens ?? null,
    costMicros: cost === undefined ? null : Math.floor(cost * 1_000_000),
  }))
}
