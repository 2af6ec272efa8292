import {contextOverflow} from '../protocol/context-overflow.ts'
import {type ErrorDetails, HoldfastError} from '../protocol/errors.ts'
import {redactText} from '../protocol/redact-secrets.ts'
import {retryAfterMs} from '../protocol/retry-after.ts'
import {textStart} from '../protocol/text.ts'
import {thrownWords} from '../protocol/thrown-words.ts'

/** Converts an error that a model threw or streamed. `now`: milliseconds since 1970. */
export function modelError(error: unknown, now: number): HoldfastError {
  if (HoldfastError.is(error, 'too_large')) return overflowed(error)
  if (error instanceof HoldfastError) return error
  // Secrets are redacted before the text is cut: half a key would not be recognised. [VIEW-5]
  const message = textStart(redactText(thrownWords(error)), 1000)
  return new HoldfastError('model_failed', message, {cause: error, details: detailsOf(error, now)})
}

/** The server refuses a request of this size; for the loop this means that the prompt is too long. */
function overflowed(error: HoldfastError): HoldfastError {
  const details = {retryable: false, overflow: {limit: null, counted: null}}
  return new HoldfastError('model_failed', error.message, {cause: error, details})
}

function detailsOf(error: unknown, now: number): ErrorDetails {
  const overflow = contextOverflow(error)
  if (overflow) return {retryable: false, overflow}
  const pauseMs = retryAfterMs(headersOf(error), now)
  if (needsPerson(error)) return {retryable: true, tryAgain: false}
  return {retryable: mayPass(error), ...(pauseMs !== null && {retryAfterMs: pauseMs})}
}

/** Providers mark temporary errors. Without a mark, an error is treated as a broken connection and retried. */
function mayPass(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('isRetryable' in error)) return true
  const status = statusOf(error)
  return error.isRetryable === true || (status !== null && status >= 200 && status < 300)
}

/** A key, an account or a right was refused. A person must correct it before a retry can succeed. */
function needsPerson(error: unknown): boolean {
  return [401, 402, 403].includes(statusOf(error) ?? 0)
}

function statusOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return null
  return typeof error.statusCode === 'number' ? error.statusCode : null
}

function headersOf(error: unknown): Headers | Record<string, unknown> | undefined {
  if (typeof error !== 'object' || error === null || !('responseHeaders' in error)) return undefined
  const {responseHeaders: headers} = error
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, unknown>) : undefined
}
