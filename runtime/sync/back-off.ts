import {HoldfastError} from '../protocol/errors.ts'

/** Longest pause in milliseconds that a server or proxy may request. Then the device tries again. */
export const longestAskedPauseMs = 600_000

/**
 * Milliseconds to wait before try number `failures + 1`: doubles from half a second to 30 s, half of it jitter.
 * [SYNC-6]
 */
export function backoffMs(failures: number, random: number): number {
  if (failures === 0) return 0
  const ceiling = Math.min(30_000, 500 * 2 ** (failures - 1))
  return Math.round(ceiling * (0.5 + random / 2))
}

/**
 * Like `backoffMs`, but at least the pause that the response requested with `Retry-After`. A quarter of it is added as
 * jitter, so that devices that were refused together do not return together.
 */
export function retryPauseMs(error: unknown, failures: number, random: number): number {
  const own = backoffMs(failures, random)
  const asked = askedPauseMs(error)
  if (asked === null) return own
  return Math.min(longestAskedPauseMs, Math.max(own, Math.round(asked * (1 + random / 4))))
}

/** Milliseconds that the response asked to wait, with `Retry-After`; null if it did not. */
export function askedPauseMs(error: unknown): number | null {
  if (!HoldfastError.is(error)) return null
  const asked = error.details.retryAfterMs ?? error.details.waitMs
  return typeof asked === 'number' && asked > 0 ? asked : null
}
