import {redactText} from '../runtime/protocol/redact-secrets.ts'

/** The words of a provider's error, at most 1000 characters, without anything shaped like a key. [VIEW-5] */
export function safeMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : 'The model call failed.'
  return redactText(text).slice(0, 1000)
}

/** Providers mark the errors that may pass; an unmarked one is taken for final, so that nobody retries for ever. */
export function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'isRetryable' in error && error.isRetryable === true
}
