/**
 * Knows whether anybody still waits for a generation. A reader that lost its connection comes back within the grace
 * and finds it going on; one that was cancelled or overtaken does not come back, so then nothing is waited for.
 */
export class Attendance {
  #readers = 0
  #overtaken = false
  #closed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly options: {
      graceMs: number
      /** True while a reader of another process follows the stored parts. */
      followedElsewhere: () => Promise<boolean>
      /** Called once, when nobody is left to generate for. */
      onDeserted: (overtaken: boolean) => void
    },
  ) {
    // Whoever asked has not begun to read yet.
    this.#wait(Math.max(options.graceMs, 10_000))
  }

  /** Returns how to leave again. */
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

  /** Its run was ended or went another way: the last one to leave ends it. */
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
    // Somebody came meanwhile, and may have left again: then another wait has begun.
    if (timer !== this.#timer || this.#readers > 0 || this.#closed) return
    if (followed) return this.#wait(Math.max(this.options.graceMs, 1000))
    this.close()
    this.options.onDeserted(this.#overtaken)
  }
}
