/**
 * A longer gap in milliseconds between two ticks means that the process was suspended: the machine slept or the tab was
 * frozen. Browsers wake a hidden page once a minute, which still counts as work.
 */
const longestGapMs = 90_000
const tickMs = 1000

/**
 * Measures how long this process works for a run, between its events, on a monotonic clock. Waiting, sleeping and being
 * closed do not count. [BUD-3]
 */
export class WorkMeter {
  #workedMs = 0
  #lastAt = 0
  #working = 0
  #ticker: ReturnType<typeof setInterval> | undefined

  /** `elapsed` is a monotonic clock in milliseconds. */
  constructor(private readonly elapsed: () => number) {}

  /** Milliseconds of work that no event has recorded yet. */
  get unrecordedMs(): number {
    if (this.#working > 0) this.#tick()
    return Math.round(this.#workedMs)
  }

  /** Counts the time of `work`. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#begin()
    try {
      return await work()
    } finally {
      this.#end()
    }
  }

  /** Returns the unrecorded work and resets it, for the next event. */
  take(): number {
    const ms = this.unrecordedMs
    this.#workedMs = 0
    return ms
  }

  /** Adds work back when the event that recorded it was not stored. */
  giveBack(ms: number): void {
    this.#workedMs += ms
  }

  /** Discards work for a run that has ended or moved to another holder. */
  reset(): void {
    this.#workedMs = 0
    this.#lastAt = this.elapsed()
  }

  /**
   * Returns a signal that aborts with a `TimeoutError` after `ms` more milliseconds of work. `stop` ends the
   * measurement.
   */
  after(ms: number): {signal: AbortSignal; stop(): void} {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let worked = 0
    let lastAt = this.elapsed()
    const look = () => {
      const at = this.elapsed()
      worked += workBetween(lastAt, at)
      lastAt = at
      if (worked >= ms) controller.abort(new DOMException('The time for this is over.', 'TimeoutError'))
      else timer = setTimeout(look, Math.min(Math.max(1, ms - worked), tickMs))
    }
    look()
    return {signal: controller.signal, stop: () => clearTimeout(timer)}
  }

  #begin(): void {
    this.#working += 1
    if (this.#working > 1) return
    this.#lastAt = this.elapsed()
    this.#ticker = setInterval(() => this.#tick(), tickMs)
  }

  #end(): void {
    this.#tick()
    this.#working -= 1
    if (this.#working === 0) clearInterval(this.#ticker)
  }

  #tick(): void {
    const at = this.elapsed()
    this.#workedMs += workBetween(this.#lastAt, at)
    this.#lastAt = at
  }
}

function workBetween(from: number, to: number): number {
  const gap = to - from
  return gap > 0 && gap <= longestGapMs ? gap : 0
}
