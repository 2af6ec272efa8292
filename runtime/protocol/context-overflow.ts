import * as z from 'zod'

/**
 * A provider's refusal of a prompt that is too long. Counts are in provider tokens; null where the provider states
 * none.
 */
export const contextOverflowSchema = z.object({
  limit: z.int().nonnegative().nullable(),
  counted: z.int().nonnegative().nullable(),
})
export type ContextOverflow = z.infer<typeof contextOverflowSchema>

/** Error codes and types that providers use for it, in any field of the error. */
const codes = [
  'context_length_exceeded',
  'context_window_exceeded',
  'model_context_window_exceeded',
  'exceed_context_size_error',
  'contextwindowexceedederror',
  'contextwindowsizeexceedederror',
  'request_too_large',
  'prompt_too_long',
  'max_context_length',
]

/**
 * Message patterns of OpenAI, Azure, Anthropic, Google, Mistral, Bedrock, xAI, Groq, OpenRouter, vLLM, llama.cpp,
 * Ollama and others.
 */
const words = [
  /context[ _-]?(length|window|size|limit)[^.]{0,80}(exceed|overflow|too (small|short))/,
  /(exceed|overflow|larger than|longer than|greater than|too (long|large|big) for|over)[^.]{0,60}context[ _-]?(length|window|size|limit)/,
  /maximum (context|model|prompt|input) (length|size|tokens)/,
  /maximum allowed (number of )?(input )?tokens/,
  /context length is only/,
  /\bcontext the overflows\b/,
  /(prompt|input|request|message|conversation)s? (is|are) too (long|large)\b/,
  /\b(prompt|input) too long\b/,
  /too (long|large) for (the )?(requested )?model/,
  /reduce (the length|your prompt|the size) of|please reduce (the|your) (length|prompt|input)/,
  /input tokens? (count )?(of \d+ )?exceed/,
  /(input|prompt) token count[^.]{0,60}(exceed|only supports)/,
  /input token count is \d+ but/,
  /exceeds? the (maximum|limit)( number)? of (input )?(\d+ )?tokens/,
  /prompt (token count|tokens?)[^.]{0,40}exceed/,
  /exceeded model token limit|exceeds? the model'?s? (maximum|max) (context|input|length|tokens)/,
  /\btoo many (input )?tokens\b(?! per)/,
  /tokens in request more than max tokens allowed/,
  /inputs?`? tokens? \+ `?max_new_tokens`? must be <=/,
  /inputs?`? must have less than \d+ tokens/,
  /range of input length should be/,
  /prompt exceeds (max|the) length|input length exceeds/,
  /request (entity )?too large/,
  /the input is too large/,
  /exceeds the maximum size/,
]

/** A rate limit passes with time and is no overflow. The exception is one request that alone exceeds the limit. */
const rateLimit =
  /rate.?limit|per (min|minute|hour|day)|\b[rt]pm\b|\b[rt]pd\b|\bquota\b|insufficient_quota|too many requests|throttl/
const alwaysOverRate = /request too large/
/** Limits on a reply, an id or a name do not concern the length of the prompt. */
const otherLimit =
  /max_(completion_|output_)?tokens(`|')? is too large|at most \d+ (completion|output) tokens|(tool_call_id|tool_calls|\.id\b|\bname\b)[^.]{0,40}string too long/

/**
 * Detects whether an error says that the prompt is longer than the model accepts. Reads the status, codes and messages
 * of the error itself, its body, its data and its causes. Returns null for every other error.
 *
 * @example contextOverflow(new Error('prompt is too long: 213462 tokens > 200000 maximum')) // {limit: 200000, counted: 213462}
 */
export function contextOverflow(error: unknown): ContextOverflow | null {
  const {text, status} = errorText(error)
  if (otherLimit.test(text)) return null
  if (rateLimit.test(text) && !alwaysOverRate.test(text)) return null
  const named = codes.some(code => text.includes(code)) || words.some(pattern => pattern.test(text))
  if (!named && status !== 413) return null
  // Authentication and payment errors are never an overflow, whatever their message says.
  if (status === 401 || status === 402 || status === 403) return null
  return countsIn(text)
}

/** Collects the text of an error in lower case. Bounded in size and depth; circular references are skipped. */
function errorText(error: unknown): {text: string; status: number | null} {
  const texts: string[] = []
  const seen = new Set<object>()
  let status: number | null = null
  let left = 20_000
  const take = (value: unknown, depth: number): void => {
    if (left <= 0 || depth > 5) return
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value).slice(0, left)
      left -= text.length
      texts.push(text)
      return
    }
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    const fields = value as Record<string, unknown>
    const own = fields.statusCode ?? fields.status
    if (status === null && typeof own === 'number') status = own
    // `name`, `message` and `cause` of an Error are not enumerable. The request body is skipped: it holds the prompt.
    for (const name of ['name', 'message', 'cause']) take(fields[name], depth + 1)
    for (const [name, inner] of Object.entries(fields)) {
      if (!/^(requestBodyValues|responseHeaders|url|stack|name|message|cause)$/.test(name)) labelled(name, inner, depth)
    }
  }
  const labelled = (name: string, value: unknown, depth: number) => {
    if (typeof value === 'number') texts.push(`"${name}":`)
    take(value, depth + 1)
  }
  take(error, 0)
  return {text: texts.join(' ').toLowerCase(), status}
}

const number = '([0-9][0-9,_]{0,14})'
/** [pattern, group of the limit, group of the counted tokens]. The first match is used. */
const counts: readonly (readonly [RegExp, number, number])[] = [
  [new RegExp(`${number} tokens? > ${number}`), 2, 1],
  [new RegExp(`limit:? ${number},? requested:? ${number}`), 1, 2],
  [new RegExp(`input length and .?max_tokens.? exceed context limit: ${number} \\+ ${number} > ${number}`), 3, 1],
  [new RegExp(`"?n_prompt_tokens"?: ?${number}.{0,40}"?n_ctx"?: ?${number}`), 2, 1],
  [new RegExp(`"?n_ctx"?: ?${number}.{0,40}"?n_prompt_tokens"?: ?${number}`), 1, 2],
  [new RegExp(`request \\(${number} tokens\\) exceeds the available context size \\(${number} tokens\\)`), 2, 1],
  [
    new RegExp(
      `(?:token count|contains|input length|prompt \\(?length) (?:\\(|of |is )?${number}\\)?[^0-9]{1,80}${number}`,
    ),
    2,
    1,
  ],
  [new RegExp(`(?:length|limit|window|size|prompt length)[^0-9]{1,30}${number}[^0-9]{1,80}${number}`), 1, 2],
  [new RegExp(`must be <= ${number}\\. given: ${number}`), 1, 2],
]

function countsIn(text: string): ContextOverflow {
  for (const [pattern, limitAt, countedAt] of counts) {
    const found = pattern.exec(text)
    const limit = toCount(found?.[limitAt])
    const counted = toCount(found?.[countedAt])
    // If the count is below the limit, the two numbers were matched in the wrong order.
    if (limit !== null && counted !== null && counted > limit) return {limit, counted}
    if (limit !== null && counted !== null && limitAt === 3) return {limit, counted}
  }
  const alone = /(?:maximum|limit|window|length|size)[^0-9.]{1,40}([0-9][0-9,_]{2,14})/.exec(text)
  return {limit: toCount(alone?.[1]), counted: null}
}

function toCount(text: string | undefined): number | null {
  const count = Number(text?.replace(/[,_]/g, '') ?? Number.NaN)
  return Number.isSafeInteger(count) && count >= 16 ? count : null
}
