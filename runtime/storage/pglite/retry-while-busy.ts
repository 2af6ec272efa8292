import {HoldfastError} from '../../protocol/errors.ts'

const patienceMs = 1_500

/** Retries `work` on `database_locked` for 1.5 s. A worker can hold its files for over 0.5 s after its page was reloaded. */
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
