import {estimateTokens} from '../protocol/estimate-tokens.ts'
import type {Json} from '../protocol/json.ts'
import {textEnd, textStart} from '../protocol/text.ts'

/** Sizes in tokens to which long texts are cut. There are few, so that a prompt keeps its prefix from step to step. */
export const excerptSizes = [8192, 4096, 2048, 1024, 512, 256, 128, 64] as const

/** Returns the value if it is small enough; otherwise its start and end, with its length. */
export function excerptOf(value: Json, tokens: number | undefined): Json {
  if (tokens === undefined || estimateTokens(value) <= tokens) return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return {excerpt: excerptText(text, tokens), ...referencesIn(value)}
}

/** Keeps a blob's reference beside the excerpt, so that the whole can be read. */
function referencesIn(value: Json): {[key: string]: Json} {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  const {$blob, bytes, type} = value
  return typeof $blob === 'string'
    ? {$blob, ...(bytes !== undefined && {bytes}), ...(type !== undefined && {type})}
    : {}
}

/** Returns the start and end of a text, without splitting a character, and a note between them. */
export function excerptText(text: string, tokens: number | undefined): string {
  if (tokens === undefined || estimateTokens(text) <= tokens) return text
  const share = Math.min(1, tokens / estimateTokens(text))
  let room = Math.floor(text.length * share)
  for (;;) {
    const [head, tail] = [Math.ceil(room * 0.75), Math.floor(room * 0.25)]
    const start = textStart(text, head)
    const end = textEnd(text, tail)
    const shown = `${start} [… ${text.length} characters in all, the middle is left out; ask for a smaller part to read more …] ${end}`
    if (room < 16 || estimateTokens(shown) <= tokens) return shown
    room = Math.floor(room * 0.8)
  }
}
