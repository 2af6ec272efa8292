/**
 * Tracks whether a generation still has readers. A reader that lost its connection may return within the grace
 * period. After the call was cancelled or overtaken no reader returns, so the generation ends when the last reader
 * leaves.
 */
export class Attendance {
  #readers = 0
  #overtaken = false
  #closed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly options: {
      graceMs: number
      /** True while a reader in another process follows the stored parts. */
      followedElsewhere: () => Promise<boolean>
      /** Called once, when no reader is left. */
      onDeserted: (overtaken: boolean) => void
    },
  ) {
    // The requester has not started reading yet.
    this.#wait(Math.max(options.graceMs, 10_000))
  }

  /** Adds a reader. Returns a function that removes it. */
  enter(): () => void {
    this.#readers += 1
    clearTimeout(this.#timer)
    let here = true
    return () => {
      if (!here) return
      here = false
      this.#readers -= 1
      if (this.#readers === 0) this.#wait(this.#overtaken ? 0 : this.options.graceMs)
    }
  }

  /**
   * Marks the call as overtaken, because its run ended or continued without it. The generation ends when the last
   * reader leaves.
   */
  overtake(): void {
    if (this.#overtaken) return
    this.#overtaken = true
    if (this.#readers === 0) this.#wait(0)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    this.#timer = setTimeout(() => void this.#leave(), ms)
  }

  async #leave(): Promise<void> {
    const timer = this.#timer
    const followed = !this.#overtaken && (await this.options.followedElsewhere())
    // A reader entered meanwhile, and may have left again: then a new timer runs.
    if (timer !== this.#timer || this.#readers > 0 || this.#closed) return
    if (followed) return this.#wait(Math.max(this.options.graceMs, 1000))
    this.close()
    this.options.onDeserted(this.#overtaken)
  }
}
