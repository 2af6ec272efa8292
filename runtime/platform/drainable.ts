import {HoldfastError} from '../protocol/errors.ts'
import type {Call} from './target.ts'

export interface Drainable {
  call: Call
  /**
   * Resolves when all running calls have settled, or after `ms` milliseconds. New calls are held until `release`.
   */
  drain(ms: number): Promise<void>
  /** Rejects the held calls with `peer_gone`, so that callers retry them with the next owner of the database. */
  release(): void
}

/** Calls the methods of `service` until it is drained for a hand-over. */
export function drainable(service: object): Drainable {
  const underWay = new Set<Promise<unknown>>()
  const held: ((error: HoldfastError) => void)[] = []
  let draining = false

  function invoke(method: string, args: unknown[]): Promise<unknown> {
    const found: unknown = method in Object.prototype ? undefined : Reflect.get(service, method)
    if (typeof found !== 'function') {
      throw new HoldfastError('not_found', `The service has no method "${method}".`, {details: {method}})
    }
    return Promise.resolve(found.apply(service, args))
  }

  return {
    async call(method, args) {
      if (draining) return new Promise((_resolve, reject) => held.push(reject))
      const work = invoke(method, args)
      const settled = work.catch(() => {})
      underWay.add(settled)
      void settled.then(() => underWay.delete(settled))
      return work
    },
    async drain(ms) {
      draining = true
      const late = new Promise(resolve => setTimeout(resolve, ms))
      await Promise.race([Promise.all(underWay), late])
    },
    release() {
      const gone = new HoldfastError('peer_gone', 'Another tab owns the database now.')
      for (const reject of held.splice(0)) reject(gone)
    },
  }
}
