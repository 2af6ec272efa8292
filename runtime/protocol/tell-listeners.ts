/**
 * Calls every listener with the value. A listener that throws is reported; the others are still called, and the caller
 * is not interrupted.
 *
 * @example tellListeners(listeners, view)
 */
export function tellListeners<T>(listeners: Iterable<(value: T) => void>, value: T): void {
  for (const listener of [...listeners]) tellListener(listener, value)
}

/** Calls one listener; what it throws, now or in a promise that it returns, is reported and goes no further. */
export function tellListener<T>(listener: (value: T) => unknown, value: T): void {
  try {
    const returned = listener(value)
    if (returned instanceof Promise) returned.catch(report)
  } catch (error) {
    report(error)
  }
}

/** Reports an uncaught error where the host can do so without ending the process. */
function report(error: unknown): void {
  if (typeof reportError === 'function') reportError(error)
  else console.error('A listener threw:', error)
}
