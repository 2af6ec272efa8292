import type {Environment} from '../runtime/protocol/environment.ts'

/**
 * Milliseconds that the clocks of this server, of its other processes and of whoever issues tokens may differ. A token
 * dated further ahead is refused, so a token that was ever accepted was dated at most this far ahead. Revoking all
 * tokens of a subject therefore covers this much more than the server's own time: no token that works at that moment
 * survives, and those issued within this time afterwards have to be issued again.
 */
export const clockToleranceMs = 30_000

/** A jump larger than this (ms) is not drift. */
const jumpMs = 60_000
/** How long a new time has to hold (ms) before anything ends for good because of it. */
const holdMs = 600_000

type Reading = {wall: number; monotonic: number}
export type ClockWatch = {reading: Reading | null; heldUntil: number}

/** Pure: compares a reading with the one before; `heldUntil` is monotonic. */
export function watchClock(watch: ClockWatch, now: Reading): ClockWatch {
  const {reading, heldUntil} = watch
  if (!reading) return {reading: now, heldUntil}
  const jump = now.wall - reading.wall - (now.monotonic - reading.monotonic)
  return {reading: now, heldUntil: Math.abs(jump) > jumpMs ? now.monotonic + holdMs : heldUntil}
}

/**
 * True while the clock has just jumped. A sweep then ends nothing that cannot be brought back: approvals, memory and
 * what is past its retention wait for ten minutes, in which a wrong clock is set right. Without a monotonic clock, as in
 * a scripted environment, it is never true.
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
