import * as z from 'zod'
import type {Budgets, Pin} from './pin.ts'
import type {RunState} from './run.ts'

/** What a run has used so far: in the event that ends it at a bound, and in its passport. [BUD-2] */
export const runUsageSchema = z.strictObject({
  steps: z.int().nonnegative(),
  /** Tool calls that the model has made. */
  calls: z.int().nonnegative(),
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
  /** Input tokens that the provider read from its cache, included in `inputTokens`. Absent when there were none. */
  cachedTokens: z.int().nonnegative().optional(),
  /** Number of replies for which the provider reported no token count. They are in none of the sums. */
  unreported: z.int().nonnegative(),
  /** In the currency of the pinned prices; null when there are none. */
  cost: z.number().nonnegative().nullable(),
  /** Milliseconds of work, as the holders measured it. Waiting, sleeping and being closed do not count. [BUD-3] */
  wallMs: z.number().nonnegative(),
})
export type RunUsage = z.infer<typeof runUsageSchema>

/** One bound of a run as a person may be shown it; `applies` is false when it cannot be kept, and `why` says so. */
export type Bound = {
  name: 'steps' | 'calls' | 'tokens' | 'cost' | 'wall'
  used: number | null
  /** Extensions counted in; null when the pin sets none. */
  limit: number | null
  applies: boolean
  why: string | null
}

/** `workMs`: milliseconds of work since the last event. Only the holder knows them. [BUD-3] */
export function usageOf(run: RunState, workMs = 0): RunUsage {
  const wallMs = run.workedMs + workMs
  return {steps: run.steps, calls: run.calls, ...run.usage, cost: costOf(run), wallMs}
}

/** A price per million tokens is the price of one token in millionths, so the sum is rounded once and only there. */
function costOf({pin: {model}, usage}: RunState): number | null {
  if (!model.prices) return null
  const {inputPerMillion, outputPerMillion, cachedInputPerMillion = inputPerMillion} = model.prices
  const {inputTokens, outputTokens, cachedTokens = 0} = usage
  const cached = Math.min(cachedTokens, inputTokens)
  const input = (inputTokens - cached) * inputPerMillion + cached * cachedInputPerMillion
  return Math.ceil(input + outputTokens * outputPerMillion) / 1_000_000
}

export function boundsOf(run: RunState, workMs?: number): Bound[] {
  const used = usageOf(run, workMs)
  const {budgets, model} = run.pin
  const bound = (name: Bound['name'], value: number, limit: number): Bound => ({
    name,
    used: value,
    limit: limit * (1 + run.extensions),
    applies: true,
    why: null,
  })
  return [
    bound('steps', used.steps, budgets.maxSteps),
    bound('calls', used.calls, budgets.maxToolCalls),
    bound('tokens', used.inputTokens + used.outputTokens, budgets.maxTokens),
    budgets.maxCost === null || used.cost === null
      ? {name: 'cost', used: used.cost, limit: budgets.maxCost, applies: false, why: noCost(budgets, model.label)}
      : bound('cost', used.cost, budgets.maxCost),
    bound('wall', used.wallMs, budgets.wallMs),
  ]
}

function noCost({maxCost}: Budgets, label: string): string {
  return maxCost === null
    ? 'The run is pinned to no bound on cost.'
    : `The host knows no prices of ${label}, so the bound on cost cannot be kept.`
}

/** Returns the message of the first bound (tokens, cost or time) that is used up; null while none is. [BUD-1] */
export function spentBound(run: RunState, workMs: number): string | null {
  return wordsOfFirst(run, workMs, bound => ['tokens', 'cost', 'wall'].includes(bound.name))
}

/** Like `spentBound`, but also checks the bounds that only another step would exceed. */
export function stepBound(run: RunState, workMs: number): string | null {
  return wordsOfFirst(run, workMs, bound => bound.name !== 'calls') ?? callsBound(run)
}

/**
 * Returns a message when the model has asked for more calls than the run may make. The extra calls are not executed.
 */
export function callsBound(run: RunState): string | null {
  const limit = callLimit(run)
  return run.calls > limit ? wordsOf('calls', limit, run.pin) : null
}

/** How many of the run's calls may be run, in the order the model made them. */
export function callLimit(run: RunState): number {
  return run.pin.budgets.maxToolCalls * (1 + run.extensions)
}

/** Milliseconds of work that the run may still do. */
export function wallLeftMs(run: RunState, workMs: number): number {
  return run.pin.budgets.wallMs * (1 + run.extensions) - run.workedMs - workMs
}

export function wallBound(run: RunState): string {
  return wordsOf('wall', run.pin.budgets.wallMs * (1 + run.extensions), run.pin)
}

function wordsOfFirst(run: RunState, workMs: number, counts: (bound: Bound) => boolean): string | null {
  const hit = boundsOf(run, workMs).find(
    bound => bound.applies && bound.used !== null && bound.limit !== null && bound.used >= bound.limit && counts(bound),
  )
  return hit ? wordsOf(hit.name, hit.limit ?? 0, run.pin) : null
}

function wordsOf(name: Bound['name'], limit: number, {model}: Pin): string {
  switch (name) {
    case 'steps':
      return `${limit} steps`
    case 'calls':
      return `${limit} tool calls`
    case 'tokens':
      return `${limit} tokens`
    case 'cost':
      return `a cost of ${limit} ${model.prices?.currency ?? ''}`.trim()
    case 'wall':
      return `${limit / 1000} s of work`
  }
}
