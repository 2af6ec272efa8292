import {HoldfastError} from '../protocol/errors.ts'
import {limits} from '../protocol/version.ts'

/** Target duration of one request in milliseconds: short enough to repeat cheaply, long enough to be efficient. */
const targetMs = 2000
const leastBytes = 16 * 1024
/** Room for the envelope of the request itself. */
const mostBytes = limits.bodyBytes - 16 * 1024

/**
 * The number of bytes of one request, adapted to the line and its proxies: halved when a request fails or is slow,
 * doubled when it is fast. [SYNC-8]
 */
export class LinePace {
  #bytes = 128 * 1024

  get bytes(): number {
    return this.#bytes
  }

  /** Runs one request of about `bytes` and adapts to its duration. */
  async measure<T>(work: () => Promise<T>): Promise<T> {
    const began = performance.now()
    try {
      const answer = await work()
      const tookMs = performance.now() - began
      if (tookMs < targetMs / 2) this.#become(this.#bytes * 2)
      else if (tookMs > targetMs * 2) this.#become(this.#bytes / 2)
      return answer
    } catch (error) {
      // The cause may be the size limit of a proxy or a slow line. A smaller request is always safe.
      if (HoldfastError.is(error, 'offline', 'deadline')) this.#become(this.#bytes / 2)
      throw error
    }
  }

  #become(bytes: number): void {
    this.#bytes = Math.min(mostBytes, Math.max(leastBytes, Math.floor(bytes)))
  }
}
