import {contextOverflow} from '../../runtime/protocol/context-overflow.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type ModelFailure, type ModelFailureReason, modelFailureReasons} from '../../runtime/protocol/model-call.ts'
import {redactText} from '../../runtime/protocol/redact-secrets.ts'
import {retryAfterMs} from '../../runtime/protocol/retry-after.ts'
import {textStart} from '../../runtime/protocol/text.ts'

/**
 * Message to the device per kind of failure. The provider's own text is not used: it may contain keys, organisations
 * and URLs.
 */
const messages: Record<ModelFailureReason, string> = {
  rate_limited: 'The model provider is asked too often at the moment.',
  unavailable: 'The model provider is not available at the moment.',
  timeout: 'The model did not answer in time.',
  content_filter: 'The provider’s content filter refused the request.',
  refused: 'The model provider refused the request; the server’s log says why.',
  broken: 'The connection to the model broke off before the reply was complete.',
  too_large: 'The reply was larger than the server takes.',
  aborted: 'The call was ended.',
  lost: 'The process that made this call ended before it was complete.',
  forgotten: 'The words of this call are no longer kept.',
}
const tooLong = 'The prompt is longer than the model takes.'

/** Creates a failure of the gateway itself, in the form that `failureOf` reads. */
export function modelFailed(reason: ModelFailureReason, message: string = messages[reason]): HoldfastError {
  return new HoldfastError('model_failed', message, {details: {reason, retryable: isPassing(reason)}})
}

/**
 * Converts a provider's error to a failure. 408, 409, 429, 5xx and a broken connection are retryable. Any other
 * response, a content filter and an error without details are final, so that no caller retries forever. `now` is in
 * ms since 1970.
 */
export function failureOf(error: unknown, now: number): ModelFailure {
  const own = ownReason(error)
  if (own && error instanceof HoldfastError) return {message: error.message, retryable: isPassing(own), reason: own}
  const overflow = contextOverflow(error)
  if (overflow) return {message: tooLong, retryable: false, reason: 'refused', overflow}
  const reason = reasonOf(error)
  const marked = fieldOf(error, 'isRetryable')
  const retryable = reason === 'broken' && typeof marked === 'boolean' ? marked : isPassing(reason)
  const pauseMs = retryable ? retryAfterMs(headersOf(error), now) : null
  return {message: messages[reason], retryable, reason, ...(pauseMs !== null && {retryAfterMs: pauseMs})}
}

/**
 * Returns what the server log records of a provider's error: its status and code. The redacted message is included
 * only if the response concerns the account or service, not the prompt. [VIEW-5]
 */
export function failureDetail(error: unknown): {system: string; words?: string} {
  const status = fieldOf(error, 'statusCode')
  const code = codeIn(error)
  const system = [typeof status === 'number' ? String(status) : '', code].filter(text => text !== '').join(' ')
  const aboutPrompt = typeof status !== 'number' || status === 400 || status === 413 || status === 422
  const words = error instanceof Error && !aboutPrompt ? textStart(redactText(error.message), 500) : undefined
  return {system, ...(words !== undefined && {words})}
}

/** Accepts only a single short word as a code: other text could come from the prompt. */
function codeIn(error: unknown): string {
  const inner = fieldOf(fieldOf(error, 'data'), 'error')
  const found = [fieldOf(error, 'code'), fieldOf(inner, 'code'), fieldOf(inner, 'type'), fieldOf(error, 'name')]
  return found.find((code): code is string => typeof code === 'string' && /^[A-Za-z][\w.-]{1,60}$/.test(code)) ?? ''
}

function isPassing(reason: ModelFailureReason): boolean {
  return !['content_filter', 'refused', 'too_large'].includes(reason)
}

function ownReason(error: unknown): ModelFailureReason | null {
  if (!HoldfastError.is(error, 'model_failed')) return null
  return modelFailureReasons.find(reason => reason === error.details.reason) ?? null
}

function reasonOf(error: unknown): ModelFailureReason {
  const status = fieldOf(error, 'statusCode')
  if (isContentFilter(error)) return 'content_filter'
  if (typeof status === 'number') return reasonOfStatus(status)
  const name = fieldOf(error, 'name')
  if (name === 'TimeoutError') return 'timeout'
  // Without a status, either the connection or the provider's code failed. `isRetryable` tells whether a retry may
  // help.
  const network = name === 'TypeError' || typeof fieldOf(error, 'code') === 'string'
  return network || typeof fieldOf(error, 'isRetryable') === 'boolean' ? 'broken' : 'refused'
}

function reasonOfStatus(status: number): ModelFailureReason {
  if (status === 429) return 'rate_limited'
  if (status === 408) return 'timeout'
  return status >= 500 || status === 409 ? 'unavailable' : 'refused'
}

/** Providers report it in the body of a 400, by this name or this phrase. */
function isContentFilter(error: unknown): boolean {
  const body = fieldOf(error, 'responseBody')
  return fieldOf(error, 'statusCode') === 400 && typeof body === 'string' && /content[_ -]?(filter|policy)/i.test(body)
}

function headersOf(error: unknown): Record<string, unknown> | undefined {
  const headers = fieldOf(error, 'responseHeaders')
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, unknown>) : undefined
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
