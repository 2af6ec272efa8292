import {HoldfastError} from '../protocol/errors.ts'

/** Bytes that count as a sign of life within a body; fewer in a whole bound of silence are as good as none. */
const leastBytes = 256

/**
 * Aborts its signal after milliseconds without a sign of life. A bound on silence and not on the total lets a slow line
 * take its time, while a dead one is noticed. [SYNC-8]
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

  /** The head of an answer: its body has all of the time again. */
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
