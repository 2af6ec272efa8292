import {HoldfastError} from '../protocol/errors.ts'

export type Call = (method: string, args: unknown[]) => Promise<unknown>

/** The one place that calls go to, while it may be away: a call waits for it, and hears if it cannot come. */
export interface Target {
  set(call: Call): void
  /** Calls wait again for the next `set`; false, and nothing happens, if another was set since. */
  unset(call: Call): boolean
  /** Rejects the calls that wait now; with `forGood`, every later one too, until the next `set`. */
  fail(error: HoldfastError, options?: {forGood?: boolean}): void
  call: Call
}

/** `retry` names the methods that may run twice; they are sent once more when the target dies before it answered. */
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
