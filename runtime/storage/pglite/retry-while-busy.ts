import {HoldfastError} from '../../protocol/errors.ts'

const patienceMs = 1_500

/** A worker outlives the reload of its page and may hold its files for more than half a second after. Whoever opens tries again later. */
export async function retryWhileBusy<T>(work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  for (let wait = 20; ; wait = Math.min(wait * 1.5, 500)) {
    try {
      return await work()
    } catch (error) {
      if (!HoldfastError.is(error, 'database_locked') || performance.now() - start > patienceMs) throw error
      await new Promise(resolve => setTimeout(resolve, wait))
    }
  }
}
