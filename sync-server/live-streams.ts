import {HoldfastError} from '../runtime/protocol/errors.ts'
import type {Principal} from './principal.ts'

/** Live streams open at once in this process. */
export type StreamLimits = {subject: number; tenant: number}

/** Room for every tab and device of a person; each stream costs the server a socket and a place in every poke. */
export const standardStreams: StreamLimits = {subject: 30, tenant: 10_000}

/** Until when a device that was refused asks for news instead, milliseconds. */
const retryMs = 30_000

/**
 * Counts the live streams of each subject and tenant. Returns a function that takes a place and returns how to leave it.
 *
 * @throws HoldfastError `rate_limited` naming whose limit is reached; devices then poll [SYNC-8]
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
