import {DelegateBackoff, handleWhen, type IRetryBackoffContext, retry} from 'cockatiel'
import {HoldfastError} from '../protocol/errors.ts'

/** Tries of one model call before its run pauses, fails or asks. */
export const triesOfCall = 3
/** Longest pause between two tries, ms; a provider that asks for more gets a person's retry instead. */
const longestPauseMs = 30_000

/**
 * Retries a model call after a transient failure. The pause doubles from `firstPauseMs`, or is the pause that the
 * provider requested, whichever is longer. Does not retry a failure that `elsewhere` accepts: the run then sleeps.
 * [BUD-1]
 */
export function modelRetry(firstPauseMs: number, random: () => number, elsewhere: (error: Error) => boolean) {
  return retry(
    handleWhen(error => mayPass(error) && !elsewhere(error)),
    {
      maxAttempts: triesOfCall - 1,
      backoff: new DelegateBackoff<IRetryBackoffContext<unknown>>(({attempt, result}) => {
        const jitter = 0.5 + random() / 2
        const own = Math.min(8000, firstPauseMs * 2 ** (attempt - 1)) * jitter
        return Math.max(own, 'error' in result ? askedPauseMs(result.error) : 0)
      }),
    },
  )
}

function mayPass(error: Error): boolean {
  if (!HoldfastError.is(error, 'model_failed') || error.details.retryable === false) return false
  if (error.details.tryAgain === false) return false
  return askedPauseMs(error) <= longestPauseMs
}

function askedPauseMs(error: Error): number {
  const {retryAfterMs} = HoldfastError.is(error) ? error.details : {}
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0
}
