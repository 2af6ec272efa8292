import type {Environment} from '../runtime/protocol/environment.ts'

/**
 * Maximum clock difference in milliseconds between this server, its other processes and the token issuer. A token
 * dated further ahead is refused, so an accepted token is dated at most this far ahead. Revoking all tokens of a
 * subject therefore covers the server time plus this tolerance: no token valid at that moment survives, and tokens
 * issued within the tolerance after it must be issued again.
 */
export const clockToleranceMs = 30_000

/** A larger clock jump (ms) is not drift. */
const jumpMs = 60_000
/** Time (ms) that a new clock setting must hold before anything expires irreversibly because of it. */
const holdMs = 600_000

type Reading = {wall: number; monotonic: number}
export type ClockWatch = {reading: Reading | null; heldUntil: number}

/** Compares a reading with the previous one. Pure. `heldUntil` is in monotonic time. */
export function watchClock(watch: ClockWatch, now: Reading): ClockWatch {
  const {reading, heldUntil} = watch
  if (!reading) return {reading: now, heldUntil}
  const jump = now.wall - reading.wall - (now.monotonic - reading.monotonic)
  return {reading: now, heldUntil: Math.abs(jump) > jumpMs ? now.monotonic + holdMs : heldUntil}
}

/**
 * Returns a function that is true for ten minutes after a clock jump. Meanwhile a sweep expires nothing that cannot
 * be restored (approvals, memory, data past its retention), so that a wrong clock can be corrected. Without a
 * monotonic clock, as in a scripted environment, it always returns false.
 */
export function clockInDoubt(environment: Environment, monotonic: (() => number) | null): () => boolean {
  let watch: ClockWatch = {reading: null, heldUntil: Number.NEGATIVE_INFINITY}
  return () => {
    if (!monotonic) return false
    const now = {wall: environment.now(), monotonic: monotonic()}
    watch = watchClock(watch, now)
    return now.monotonic < watch.heldUntil
  }
}
