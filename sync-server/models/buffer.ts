import type {Json} from '../../runtime/protocol/json.ts'
import type {NumberedPart, PartChunk} from '../storage/token-store.ts'

/** The parts of one generation under way, numbered from 1; any number of readers, each at its own offset. */
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

  /** Everything after the first `stored` parts. */
  chunk(stored: number): PartChunk {
    return {first: stored + 1, parts: this.#parts.slice(stored)}
  }

  /** Parts after `after`, as they come, until the end or until the signal says stop. */
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
