import type {TenantId} from '../../runtime/protocol/ids.ts'
import type {SpendingLimit, Spent} from '../storage/token-store.ts'
import type {LanguageModel} from './language-model.ts'

/** Per million tokens, in the currency of the bill; costs are counted in its millionths. */
export type ModelPrices = {
  inputPerMTok: number
  outputPerMTok: number
  /** For input that the provider read from its cache. Default: `inputPerMTok`. */
  cachedInputPerMTok?: number
}

/** What a device may ask of an offered model beside its prompt, its function tools and the sampling of its reply. */
export type ModelAllowance = {
  /** Tokens of one reply at most; also asked for where a device asks for none. Default: 65,536, and none is asked for. */
  maxOutputTokens?: number
  /** Names of options by provider, like `{openai: ['reasoningEffort']}`. Default: none. */
  providerOptions?: Readonly<Record<string, readonly string[]>>
  /** Ids of tools that the provider runs itself, like `openai.web_search`. Default: none. */
  providerTools?: readonly string[]
  /** How much the model reasons, the call option `reasoning` of specification v4. Default: not allowed. */
  reasoning?: boolean
}
export type ModelOffer = {model: LanguageModel; prices?: ModelPrices; allow?: ModelAllowance}
/** A model alone costs nothing that could be counted; with prices its calls count against budgets of cost too. */
export type Models = Record<string, LanguageModel | ModelOffer>

/** What a tenant may use within the last `windowMs` (ms): tokens of prompts and replies, or cost in the prices' currency. */
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

/** Rounded up, so that a call that cost something never counts as free. */
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
