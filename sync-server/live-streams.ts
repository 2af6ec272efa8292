import {HoldfastError} from '../runtime/protocol/errors.ts'
import type {Principal} from './principal.ts'

/** Maximum number of live streams open at once in this process. */
export type StreamLimits = {subject: number; tenant: number}

/** Enough for all tabs and devices of a person. Each stream costs the server a socket and work on every poke. */
export const standardStreams: StreamLimits = {subject: 30, tenant: 10_000}

/** Milliseconds for which a refused device polls instead. */
const retryMs = 30_000

/**
 * Counts the live streams of each subject and tenant. The returned function takes a slot and returns a function that
 * releases it.
 *
 * @throws HoldfastError `rate_limited` naming the limit that is reached; devices then poll [SYNC-8]
 */
export function streamCounter(limits: StreamLimits): (principal: Principal) => () => void {
  const open = new Map<string, number>()
  const add = (key: string, by: number) => {
    const next = (open.get(key) ?? 0) + by
    if (next > 0) open.set(key, next)
    else open.delete(key)
  }
  return ({tenant, subject}) => {
    const keys = {subject: JSON.stringify([tenant, subject]), tenant: JSON.stringify([tenant])}
    for (const of of ['subject', 'tenant'] as const) {
      if ((open.get(keys[of]) ?? 0) < limits[of]) continue
      const message = `This ${of} has ${limits[of]} live streams open, which is the limit: ask for news instead.`
      throw new HoldfastError('rate_limited', message, {details: {of, limit: limits[of], waitMs: retryMs}})
    }
    for (const key of Object.values(keys)) add(key, 1)
    let left = false
    return () => {
      if (left) return
      left = true
      for (const key of Object.values(keys)) add(key, -1)
    }
  }
}
