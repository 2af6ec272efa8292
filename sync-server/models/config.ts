import type {LanguageModelV3} from '@ai-sdk/provider'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {TenantId} from '../../runtime/protocol/ids.ts'
import type {SpendingLimit, Spent} from '../storage/token-store.ts'

/** Per million tokens, in the currency of the bill; costs are counted in its millionths. */
export type ModelPrices = {inputPerMTok: number; outputPerMTok: number}
export type ModelOffer = {model: LanguageModelV3; prices?: ModelPrices}
/** A model alone costs nothing that could be counted; with prices its calls count against budgets of cost too. */
export type Models = Record<string, LanguageModelV3 | ModelOffer>

/** What a tenant may use within the last `windowMs` (ms): tokens of prompts and replies, or cost in the prices' currency. */
export type TenantBudget = {windowMs: number; tokens?: number; cost?: number}
export type TenantBudgets =
  | readonly TenantBudget[]
  | ((tenant: TenantId) => readonly TenantBudget[] | Promise<readonly TenantBudget[]>)

export function offerOf(models: Models, name: string): ModelOffer | null {
  const offer = Object.hasOwn(models, name) ? models[name] : undefined
  if (!offer) return null
  return 'doStream' in offer ? {model: offer} : offer
}

/** Rounded up, so that a call that cost something never counts as free. */
export function costMicros(
  tokens: Pick<Spent, 'inputTokens' | 'outputTokens'>,
  prices: ModelPrices | undefined,
): number {
  if (!prices) return 0
  return Math.ceil(tokens.inputTokens * prices.inputPerMTok + tokens.outputTokens * prices.outputPerMTok)
}

export async function limitsFor(budgets: TenantBudgets, tenant: TenantId): Promise<SpendingLimit[]> {
  const own = typeof budgets === 'function' ? await budgets(tenant) : budgets
  return own.map(({windowMs, tokens, cost}) => ({
    windowMs,
    tokens: tokens ?? null,
    costMicros: cost === undefined ? null : Math.floor(cost * 1_000_000),
  }))
}

/** @throws HoldfastError `misconfigured` naming the model or budget that cannot work */
export function checkModels(models: Models, budgets: TenantBudgets): void {
  for (const name of Object.keys(models)) {
    const {prices} = offerOf(models, name) ?? {}
    for (const [field, price] of Object.entries(prices ?? {})) {
      if (!isAmount(price)) misconfigured(`models.${name}.prices.${field}: expected a price of 0 or more, got ${price}`)
    }
  }
  if (typeof budgets === 'function') return
  for (const [i, {windowMs, tokens, cost}] of budgets.entries()) {
    if (!Number.isInteger(windowMs) || windowMs < 1) misconfigured(`budgets.${i}.windowMs: expected milliseconds`)
    if (tokens === undefined && cost === undefined) misconfigured(`budgets.${i}: expected tokens or cost to be bounded`)
    for (const bound of [tokens, cost]) {
      if (bound !== undefined && !isAmount(bound)) misconfigured(`budgets.${i}: expected a bound of 0 or more`)
    }
  }
}

function isAmount(value: number): boolean {
  return Number.isFinite(value) && value >= 0
}

function misconfigured(message: string): never {
  throw new HoldfastError('misconfigured', message)
}
