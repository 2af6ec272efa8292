import {HoldfastError} from '../../runtime/protocol/errors.ts'

/**
 * Waits for `work` so many milliseconds, then aborts its signal and gives up on it; what it does later is ignored.
 *
 * @throws HoldfastError `deadline`
 */
export async function withDeadline<T>(
  what: string,
  ms: number,
  work: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new HoldfastError('deadline', `${what} did not answer within ${ms} ms.`)
      reject(error)
      controller.abort(error)
    }, ms)
  })
  try {
    return await Promise.race([Promise.resolve(work(controller.signal)), late])
  } finally {
    clearTimeout(timer)
  }
}
