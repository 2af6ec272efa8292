import {HoldfastError} from '../protocol/errors.ts'
import {limits} from '../protocol/version.ts'

/** Milliseconds that one request should take: short enough that little is lost with it, long enough to be worth it. */
const targetMs = 2000
const leastBytes = 16 * 1024
/** Room for the envelope of the request itself. */
const mostBytes = limits.bodyBytes - 16 * 1024

/**
 * How many bytes one request carries, adapted to the line and to what proxies let pass: halved when a request fails or is
 * slow, doubled when it is quick. [SYNC-8]
 */
export class LinePace {
  #bytes = 128 * 1024

  get bytes(): number {
    return this.#bytes
  }

  /** Runs one request of about `bytes`. */
  async measure<T>(work: () => Promise<T>): Promise<T> {
    const began = performance.now()
    try {
      const answer = await work()
      const tookMs = performance.now() - began
      if (tookMs < targetMs / 2) this.#become(this.#bytes * 2)
      else if (tookMs > targetMs * 2) this.#become(this.#bytes / 2)
      return answer
    } catch (error) {
      // Too large for something between, too slow for the line, or none of this: smaller is never wrong.
      if (HoldfastError.is(error, 'offline', 'deadline')) this.#become(this.#bytes / 2)
      throw error
    }
  }

  #become(bytes: number): void {
    this.#bytes = Math.min(mostBytes, Math.max(leastBytes, Math.floor(bytes)))
  }
}
