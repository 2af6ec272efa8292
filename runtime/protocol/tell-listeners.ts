/**
 * Calls every listener with the value. What one throws is reported and silences none of the others, nor whoever tells.
 *
 * @example
 * tellListeners(listeners, view)
 */
export function tellListeners<T>(listeners: Iterable<(value: T) => void>, value: T): void {
  for (const listener of [...listeners]) {
    try {
      listener(value)
    } catch (error) {
      report(error)
    }
  }
}

/** As an uncaught error where the host has such a way that does not end it. */
function report(error: unknown): void {
  if (typeof reportError === 'function') reportError(error)
  else console.error('A listener has thrown:', error)
}
