import {HoldfastError} from '../../runtime/protocol/errors.ts'

/**
 * Runs `work` with a deadline of `ms` milliseconds. At the deadline it aborts the signal and rejects; a later result
 * is ignored.
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
