import {HoldfastError} from '../protocol/errors.ts'
import {backoffMs} from '../sync/back-off.ts'

/** Calls `retry` after a pause that grows with each failure in a row. */
export type RetryLater = {failed(error: unknown): void; succeeded(): void; stop(): void}

/** Without a retry, a page whose first question failed would stay empty until something else changes. */
export function retryLater(retry: () => void): RetryLater {
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  return {
    failed(error) {
      // Asking again cannot change these answers.
      if (stopped || HoldfastError.is(error, 'unauthenticated', 'bad_input', 'misconfigured')) return
      failures += 1
      clearTimeout(timer)
      timer = setTimeout(retry, backoffMs(failures, Math.random()))
    },
    succeeded() {
      failures = 0
      clearTimeout(timer)
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
