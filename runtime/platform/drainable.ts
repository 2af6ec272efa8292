import {HoldfastError} from '../protocol/errors.ts'
import type {Call} from './target.ts'

export interface Drainable {
  call: Call
  /**
   * Resolves when no call is under way any more, at the latest after `ms`. Calls that come from now on wait, and are
   * told by `release` that the outcome is somebody else's: so that the next owner of the database answers them.
   */
  drain(ms: number): Promise<void>
  release(): void
}

/** Calls the methods of `service`, and can stop doing so without answering any call wrongly. */
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
