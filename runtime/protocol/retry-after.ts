/** Longest accepted pause in milliseconds: one day. Longer ones are cut to it. */
export const longestRetryAfterMs = 86_400_000

type HeaderSource = Headers | Readonly<Record<string, unknown>>

/**
 * Returns the milliseconds that a response asks its client to wait, at most a day; null when no header states a pause.
 * Reads `retry-after-ms`, `retry-after` (seconds or an HTTP date), `ratelimit-reset`, `x-ratelimit-reset` and its
 * variants for requests and tokens. A header that cannot be parsed is skipped; a date in the past gives 0.
 *
 * @example retryAfterMs(response.headers, Date.now()) // 120_000 for "Retry-After: 120"
 */
export function retryAfterMs(headers: HeaderSource | undefined, now: number): number | null {
  const fields = fieldsOf(headers)
  const ms =
    plainNumber(fields.get('retry-after-ms')) ??
    pauseIn(fields.get('retry-after'), now) ??
    resetPauseMs(fields, now) ??
    pauseIn(fields.get('ratelimit-reset') ?? fields.get('x-ratelimit-reset'), now)
  return ms === null ? null : Math.min(longestRetryAfterMs, Math.max(0, Math.ceil(ms)))
}

function fieldsOf(headers: HeaderSource | undefined): Map<string, string> {
  if (!headers) return new Map()
  const entries: Iterable<[string, unknown]> = headers instanceof Headers ? headers : Object.entries(headers)
  return new Map(
    [...entries].flatMap(([name, value]) => {
      const text = Array.isArray(value) ? value[0] : value
      return typeof text === 'string' || typeof text === 'number'
        ? [[name.toLowerCase(), String(text).trim()] as const]
        : []
    }),
  )
}

/**
 * Providers report one reset time per limit with every response. Only limits with nothing left require waiting. When no
 * header states what is left, the nearest reset is used.
 */
function resetPauseMs(fields: ReadonlyMap<string, string>, now: number): number | null {
  const resets = [...fields].flatMap(([name, value]) => {
    const limit = limitNamed(name)
    const pauseMs = limit && pauseIn(value, now)
    return limit === null || pauseMs === null ? [] : [{pauseMs, left: plainNumber(fields.get(limit.remaining))}]
  })
  const spent = resets.filter(({left}) => left !== null && left <= 0)
  if (spent.length > 0) return Math.max(...spent.map(({pauseMs}) => pauseMs))
  const unknown = resets.filter(({left}) => left === null)
  return unknown.length > 0 ? Math.min(...unknown.map(({pauseMs}) => pauseMs)) : null
}

/** `x-ratelimit-reset-tokens` (OpenAI) or `anthropic-ratelimit-tokens-reset` (Anthropic). */
function limitNamed(header: string): {remaining: string} | null {
  const common = /^x-ratelimit-reset-(.+)$/.exec(header)
  if (common) return {remaining: `x-ratelimit-remaining-${common[1]}`}
  const prefixed = /^(.+-ratelimit-.+)-reset$/.exec(header)
  return prefixed ? {remaining: `${prefixed[1]}-remaining`} : null
}

function plainNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null
}

/** From this value on, a plain number is a time since 1970 (in seconds or milliseconds) and not a pause in seconds. */
const epochSeconds = 1_000_000_000
const epochMilliseconds = 1_000_000_000_000

/** Parses seconds, a duration like `6m0.5s`, a time since 1970, or a date; null for anything else. */
function pauseIn(text: string | undefined, now: number): number | null {
  if (!text) return null
  // Two fields of one name arrive joined by a comma: then the longest pause satisfies both.
  if (/^[\d.]+(\s*,\s*[\d.]+)+$/.test(text))
    return Math.max(...text.split(',').map(one => pauseIn(one.trim(), now) ?? 0))
  const number = plainNumber(text)
  if (number !== null) {
    if (number >= epochMilliseconds && number < 10 * epochMilliseconds) return number - now
    if (number >= epochSeconds && number < 10 * epochSeconds) return number * 1000 - now
    return number * 1000
  }
  return durationMs(text) ?? untilDate(text, now)
}

const unitMs: Readonly<Record<string, number>> = {d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1}

function durationMs(text: string): number | null {
  if (!/^(\d+(\.\d+)?(d|h|ms|m|s))+$/i.test(text)) return null
  const parts = text.toLowerCase().matchAll(/(\d+(?:\.\d+)?)(d|h|ms|m|s)/g)
  return [...parts].reduce((sum, [, count, unit = '']) => sum + Number(count) * (unitMs[unit] ?? 0), 0)
}

/** Requires the form of a date, because JavaScript engines also parse "-5" or "soon 1" as one. */
function untilDate(text: string, now: number): number | null {
  const looksLikeDate = /^[A-Za-z]{3,9},? |^\d{4}-\d{2}-\d{2}T/.test(text)
  const at = looksLikeDate ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : at - now
}
