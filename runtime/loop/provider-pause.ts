import {HoldfastError} from '../protocol/errors.ts'
import type {RunState} from '../protocol/run.ts'

/** A pause that the run sleeps through, milliseconds, and why. */
export type Pause = {pauseMs: number; why: string}

/** After so many pauses in a row, or for one longer than this, the run fails and a person decides. */
const pauseLimits = {inRow: 5, ms: 86_400_000}

/** Returns the pause that a failing provider requested. Null when the call is retried at once or has failed. */
export function pauseOf(run: RunState, error: unknown): Pause | null {
  if (!isPassing(error)) return null
  const {retryAfterMs} = error.details
  if (typeof retryAfterMs !== 'number' || retryAfterMs <= 0 || retryAfterMs > pauseLimits.ms) return null
  if (run.pauses >= pauseLimits.inRow) return null
  return {pauseMs: retryAfterMs, why: `The model's provider asked to wait: ${error.message}`}
}

function isPassing(error: unknown): error is HoldfastError {
  return HoldfastError.is(error, 'model_failed') && error.details.retryable !== false
}
