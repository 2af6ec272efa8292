import {HoldfastError} from '../protocol/errors.ts'

/** Bytes of a body that count as progress. Fewer in one period of silence count as none. */
const leastBytes = 256

/**
 * Aborts its signal after a period without progress. A limit on silence instead of total time allows slow lines and
 * detects dead ones. [SYNC-8]
 */
export class Silence {
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #bytes = 0

  constructor(
    firstMs: number,
    private readonly silenceMs: number,
  ) {
    this.#arm(firstMs)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The headers have arrived: the period starts again. */
  begun(): void {
    this.#bytes = 0
    this.#arm(this.silenceMs)
  }

  heard(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes >= leastBytes) this.begun()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer)
    const late = new HoldfastError('deadline', 'the server did not answer in time')
    this.#timer = setTimeout(() => this.#controller.abort(late), ms)
  }
}
