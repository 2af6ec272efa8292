type Counts = Readonly<Record<string, unknown>>
/** The last part of a stream, as versions 3 and 4 of the provider specification have it. */
export type FinishPart = {
  finishReason: {unified: string; raw: string | undefined}
  usage: {inputTokens?: Counts | undefined; outputTokens?: Counts | undefined}
}
export type CountedUsage = {inputTokens: number | null; outputTokens: number | null; cachedTokens?: number}

/**
 * A provider that lost its connection may still close its stream in an orderly way: V4 then says `interrupted`, V3
 * `other` without a reason or a count of tokens.
 */
export function isCutStream({finishReason, usage}: FinishPart): boolean {
  const {unified, raw} = finishReason
  if (unified === 'interrupted' || unified === 'error') return true
  const counted = countedUsage(usage)
  return unified === 'other' && raw === undefined && counted.inputTokens === null && counted.outputTokens === null
}

/** Totals as the provider counts them; null for what is no count. Cached tokens are part of the input tokens. */
export function countedUsage(usage: FinishPart['usage'] | undefined): CountedUsage {
  const {inputTokens: input, outputTokens: output} = usage ?? {}
  const inputTokens = countOf(input?.total)
  const cached = countOf(input?.cacheRead) ?? 0
  return {
    inputTokens,
    outputTokens: countOf(output?.total),
    ...(inputTokens !== null && cached > 0 && {cachedTokens: Math.min(cached, inputTokens)}),
  }
}

function countOf(tokens: unknown): number | null {
  return typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null
}
