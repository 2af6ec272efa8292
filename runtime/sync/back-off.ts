import {HoldfastError} from '../protocol/errors.ts'

/** The longest pause that a server or a proxy may ask for, milliseconds: after it the device asks again all the same. */
export const longestAskedPauseMs = 600_000

/** Milliseconds to wait before try number `failures + 1`: doubling from half a second to 30 s, half of it jitter. [SYNC-6] */
export function backoffMs(failures: number, random: number): number {
  if (failures === 0) return 0
  const ceiling = Math.min(30_000, 500 * 2 ** (failures - 1))
  return Math.round(ceiling * (0.5 + random / 2))
}

/**
 * As `backoffMs`, but never sooner than the answer asked for with `Retry-After`. A quarter of that is added as jitter,
 * so that the devices that were refused together do not come back together.
 */
export function retryPauseMs(error: unknown, failures: number, random: number): number {
  const own = backoffMs(failures, random)
  const asked = askedPauseMs(error)
  if (asked === null) return own
  return Math.min(longestAskedPauseMs, Math.max(own, Math.round(asked * (1 + random / 4))))
}

function askedPauseMs(error: unknown): number | null {
  if (!HoldfastError.is(error)) return null
  const asked = error.details.retryAfterMs ?? error.details.waitMs
  return typeof asked === 'number' && asked > 0 ? asked : null
}
