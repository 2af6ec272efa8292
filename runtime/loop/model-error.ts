import {contextOverflow} from '../protocol/context-overflow.ts'
import {type ErrorDetails, HoldfastError} from '../protocol/errors.ts'
import {redactText} from '../protocol/redact-secrets.ts'
import {retryAfterMs} from '../protocol/retry-after.ts'

/** What a model threw or streamed as an error, as one error of ours. `now` is milliseconds since 1970. */
export function modelError(error: unknown, now: number): HoldfastError {
  if (HoldfastError.is(error, 'too_large')) return overflowed(error)
  if (error instanceof HoldfastError) return error
  // First without its secrets, then cut: half a key would no longer look like one. [VIEW-5]
  const message = redactText(wordsOf(error)).slice(0, 1000)
  return new HoldfastError('model_failed', message, {cause: error, details: detailsOf(error, now)})
}

/** The server takes no request of this size: for the loop that is a prompt that is too long. */
function overflowed(error: HoldfastError): HoldfastError {
  const details = {retryable: false, overflow: {limit: null, counted: null}}
  return new HoldfastError('model_failed', error.message, {cause: error, details})
}

function detailsOf(error: unknown, now: number): ErrorDetails {
  const overflow = contextOverflow(error)
  if (overflow) return {retryable: false, overflow}
  const pauseMs = retryAfterMs(headersOf(error), now)
  return {retryable: isRetryable(error), ...(pauseMs !== null && {retryAfterMs: pauseMs})}
}

/** Providers stream errors as they got them: an Error, a text, or the JSON of an answer. */
function wordsOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (typeof error !== 'object' || error === null) return String(error)
  const {message, error: inner} = error as {message?: unknown; error?: unknown}
  if (typeof message === 'string') return message
  return inner === undefined ? 'The model reported an error that it did not describe.' : wordsOf(inner)
}

/** Providers mark what may pass; without a mark a broken connection is worth another try. */
function isRetryable(error: unknown): boolean {
  if (typeof error === 'object' && error !== null && 'isRetryable' in error) return error.isRetryable === true
  return true
}

function headersOf(error: unknown): Headers | Record<string, unknown> | undefined {
  if (typeof error !== 'object' || error === null || !('responseHeaders' in error)) return undefined
  const {responseHeaders: headers} = error
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, unknown>) : undefined
}
