import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type ModelFailure, type ModelFailureReason, modelFailureReasons} from '../../runtime/protocol/model-call.ts'
import {redactText} from '../../runtime/protocol/redact-secrets.ts'

/** The words of a provider's error, at most 1000 characters, without anything shaped like a key. [VIEW-5] */
export function safeMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : 'The model call failed.'
  return redactText(text).slice(0, 1000)
}

/** A failure of the gateway's own making, in the shape that `failureOf` reads back. */
export function modelFailed(reason: ModelFailureReason, message: string): HoldfastError {
  return new HoldfastError('model_failed', message, {details: {reason, retryable: isPassing(reason)}})
}

/**
 * What a provider's error means for whoever asked: 408, 409, 429, 5xx and a broken connection may pass, every other
 * answer is final, and so is a content filter. What says nothing of itself is final, so that nobody retries for ever.
 */
export function failureOf(error: unknown): ModelFailure {
  const reason = reasonOf(error)
  const marked = fieldOf(error, 'isRetryable')
  const retryable = reason === 'broken' && typeof marked === 'boolean' ? marked : isPassing(reason)
  const retryAfterMs = retryable ? retryAfter(fieldOf(error, 'responseHeaders')) : null
  return {message: safeMessage(error), retryable, reason, ...(retryAfterMs !== null && {retryAfterMs})}
}

function isPassing(reason: ModelFailureReason): boolean {
  return !['content_filter', 'refused', 'too_large'].includes(reason)
}

function reasonOf(error: unknown): ModelFailureReason {
  if (HoldfastError.is(error, 'model_failed')) {
    const own = modelFailureReasons.find(reason => reason === error.details.reason)
    if (own) return own
  }
  const status = fieldOf(error, 'statusCode')
  if (isContentFilter(error)) return 'content_filter'
  if (typeof status === 'number') return reasonOfStatus(status)
  const name = fieldOf(error, 'name')
  if (name === 'TimeoutError') return 'timeout'
  // No status: the connection broke, or the provider's code did. Its own mark says whether that may pass.
  const network = name === 'TypeError' || typeof fieldOf(error, 'code') === 'string'
  return network || typeof fieldOf(error, 'isRetryable') === 'boolean' ? 'broken' : 'refused'
}

function reasonOfStatus(status: number): ModelFailureReason {
  if (status === 429) return 'rate_limited'
  if (status === 408) return 'timeout'
  return status >= 500 || status === 409 ? 'unavailable' : 'refused'
}

/** Providers say it in the body of a 400, under this name or with these words. */
function isContentFilter(error: unknown): boolean {
  const body = fieldOf(error, 'responseBody')
  return fieldOf(error, 'statusCode') === 400 && typeof body === 'string' && /content[_ -]?(filter|policy)/i.test(body)
}

/** Seconds or a date, as HTTP has it; milliseconds, at most an hour: a longer pause is no pause. */
function retryAfter(headers: unknown): number | null {
  const milliseconds = Number(fieldOf(headers, 'retry-after-ms') ?? Number.NaN)
  const seconds = Number(fieldOf(headers, 'retry-after') ?? Number.NaN)
  const ms = Number.isFinite(milliseconds) ? milliseconds : seconds * 1000
  return Number.isFinite(ms) && ms >= 0 ? Math.min(Math.ceil(ms), 3_600_000) : null
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
