import {HoldfastError} from '../../protocol/errors.ts'

/** Settles as `work` does, or rejects with `deadline` after `ms` milliseconds. Does not stop `work`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HoldfastError('deadline', `The storage did not answer within ${ms} ms.`)), ms)
  })
  return Promise.race([work, expired]).finally(() => clearTimeout(timer))
}
