type Counts = Readonly<Record<string, unknown>>
/** The last part of a stream in versions 3 and 4 of the provider specification; providers leave fields of it out. */
export type FinishPart = {
  finishReason?: {unified?: string; raw?: string | undefined} | null | undefined
  usage?: {inputTokens?: Counts | null | undefined; outputTokens?: Counts | null | undefined} | null | undefined
}
export type CountedUsage = {inputTokens: number | null; outputTokens: number | null; cachedTokens?: number}

/**
 * Whether the stream ended before the reply was complete. A provider that lost its connection may still end its stream
 * normally: V4 then reports `interrupted`, V3 reports `other` without a reason or token counts.
 */
export function isCutStream({finishReason, usage}: FinishPart): boolean {
  const {unified, raw} = finishReason ?? {}
  if (unified === 'interrupted' || unified === 'error') return true
  const counted = countedUsage(usage)
  return unified === 'other' && raw === undefined && counted.inputTokens === null && counted.outputTokens === null
}

/**
 * Token totals of the provider; null where it reported no valid count. Cached tokens are included in the input tokens.
 */
export function countedUsage(usage: FinishPart['usage']): CountedUsage {
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
