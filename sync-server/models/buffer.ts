import type {Json} from '../../runtime/protocol/json.ts'
import type {NumberedPart, PartChunk} from '../storage/token-store.ts'

/** The parts of a running generation, numbered from 1. Supports any number of readers, each at its own offset. */
export class PartBuffer {
  readonly #parts: Json[] = []
  readonly #waiting = new Set<() => void>()
  #ended = false

  get length(): number {
    return this.#parts.length
  }

  push(part: Json): void {
    this.#parts.push(part)
    this.#wake()
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  /** Returns the parts after the first `stored`. */
  chunk(stored: number): PartChunk {
    return {first: stored + 1, parts: this.#parts.slice(stored)}
  }

  /** Yields the parts after `after` as they arrive, until the end or until `signal` aborts. */
  async *read(after: number, signal: AbortSignal): AsyncGenerator<NumberedPart> {
    for (let n = after + 1; ; ) {
      if (signal.aborted) return
      const part = this.#parts[n - 1]
      if (part !== undefined) {
        yield {n, part}
        n += 1
      } else if (this.#ended) return
      else await this.#more(signal)
    }
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const wake = () => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake()
  }
}
