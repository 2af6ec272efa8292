import {estimateTokens} from '../protocol/estimate-tokens.ts'
import type {Json} from '../protocol/json.ts'
import {textEnd, textStart} from '../protocol/text.ts'

/** Sizes in tokens to which long texts are cut. There are few, so that a prompt keeps its prefix from step to step. */
export const excerptSizes = [8192, 4096, 2048, 1024, 512, 256, 128, 64] as const

/** Returns the value if it is small enough; otherwise its start and end, with its length. `whole`: see `excerptText`. */
export function excerptOf(value: Json, tokens: number | undefined, whole?: string): Json {
  if (tokens === undefined || estimateTokens(value) <= tokens) return value
  const blob = referencesIn(value)
  const reference = whole !== undefined && typeof blob.$blob === 'string' ? blob.$blob : whole
  return {excerpt: excerptText(textOf(value), tokens, reference), ...blob}
}

/** The text that an excerpt of a value is taken from. */
export function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Keeps a blob's reference beside the excerpt, so that the whole can be read. */
function referencesIn(value: Json): {[key: string]: Json} {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  const {$blob, bytes, type} = value
  return typeof $blob === 'string'
    ? {$blob, ...(bytes !== undefined && {bytes}), ...(type !== undefined && {type})}
    : {}
}

/**
 * Returns the start and end of a text, without splitting a character, and a note between them. `whole`: the reference
 * by which a tool can read the whole text. Views up to construction 3 have none.
 */
export function excerptText(text: string, tokens: number | undefined, whole?: string): string {
  if (tokens === undefined || estimateTokens(text) <= tokens) return text
  const share = Math.min(1, tokens / estimateTokens(text))
  const more = whole ? `; the whole: ${whole} ` : ', the middle is left out; ask for a smaller part to read more '
  let room = Math.floor(text.length * share)
  for (;;) {
    const [head, tail] = [Math.ceil(room * 0.75), Math.floor(room * 0.25)]
    const start = textStart(text, head)
    const end = textEnd(text, tail)
    const shown = `${start} [… ${text.length} characters in all${more}…] ${end}`
    if (room < 16 || estimateTokens(shown) <= tokens) return shown
    room = Math.floor(room * 0.8)
  }
}
