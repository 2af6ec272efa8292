import {HoldfastError} from '../protocol/errors.ts'

export type Call = (method: string, args: unknown[]) => Promise<unknown>

/** A replaceable destination for calls. Calls wait while none is set, and reject when `fail` is called. */
export interface Target {
  set(call: Call): void
  /** Removes `call`; later calls wait for the next `set`. Returns false, without effect, if `call` is not the current one. */
  unset(call: Call): boolean
  /** Rejects all waiting calls. With `forGood`, also rejects later calls until the next `set`. */
  fail(error: HoldfastError, options?: {forGood?: boolean}): void
  call: Call
}

/** `retry` lists the idempotent methods. Their calls are retried once when the peer terminates before it answers. */
export function createTarget(retry: readonly string[]): Target {
  let current: Call | undefined
  let failure: HoldfastError | undefined
  let waiting: {resolve(call: Call): void; reject(error: HoldfastError): void}[] = []

  function reach(): Promise<Call> {
    if (current) return Promise.resolve(current)
    if (failure) return Promise.reject(failure)
    return new Promise((resolve, reject) => waiting.push({resolve, reject}))
  }

  function flush(settle: (waiter: (typeof waiting)[number]) => void): void {
    const settled = waiting
    waiting = []
    for (const waiter of settled) settle(waiter)
  }

  return {
    set(call) {
      current = call
      failure = undefined
      flush(waiter => waiter.resolve(call))
    },
    unset(call) {
      if (current !== call) return false
      current = undefined
      return true
    },
    fail(error, {forGood = false} = {}) {
      if (forGood) failure = error
      flush(waiter => waiter.reject(error))
    },
    async call(method, args) {
      const first = await reach()
      try {
        return await first(method, args)
      } catch (error) {
        if (!HoldfastError.is(error, 'peer_gone') || !retry.includes(method)) throw error
        return await (await reach())(method, args)
      }
    },
  }
}
