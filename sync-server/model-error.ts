/** Shapes that keys have: a known prefix, a bearer header, or a key in a query. */
const secretShapes = [
  /\b(?:sk|pk|rk|xai|gsk|ghp|gho|hf|AIza)[-_]?[A-Za-z0-9_-]{12,}/g,
  /\bbearer\s+[\w.~+/=-]+/gi,
  /\b(api[-_ ]?key|token|secret|authorization)(["']?\s*[:=]\s*["']?)[^\s"'&,}]+/gi,
]

/** The words of a provider's error, at most 1000 characters, without anything shaped like a key. [VIEW-5] */
export function safeMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : 'The model call failed.'
  return secretShapes.reduce((clean, shape) => clean.replace(shape, '[removed]'), text).slice(0, 1000)
}

/** Providers mark the errors that may pass; an unmarked one is taken for final, so that nobody retries for ever. */
export function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'isRetryable' in error && error.isRetryable === true
}
