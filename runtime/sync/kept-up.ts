import type {Environment} from '../protocol/environment.ts'
import {retryPauseMs} from './back-off.ts'

/**
 * Runs `work` one at a time, and once more if requested during a run. A failed run is retried with back-off until one
 * succeeds. [SYNC-6]
 *
 * @example const copy = new KeptUp(() => registry.refresh(), environment) copy.soon()
 */
export class KeptUp {
  #running: Promise<void> | null = null
  #again = false
  #failures = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #closed = false

  constructor(
    private readonly work: () => Promise<void>,
    private readonly environment: Pick<Environment, 'random'>,
    private readonly onFailed: (error: unknown) => void = () => undefined,
  ) {}

  /** Runs now, even during a pause, because something has changed. */
  soon(): void {
    if (this.#closed) return
    this.#again = true
    clearTimeout(this.#timer)
    this.#running ??= this.#runs().then(failed => {
      this.#running = null
      if (failed) this.later(failed)
    })
  }

  /** Runs after a pause. Used when the first try was made elsewhere and failed. */
  later(error: unknown): void {
    if (this.#closed || this.#running) return
    this.#failures += 1
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.soon(), retryPauseMs(error, this.#failures, this.environment.random()))
  }

  /** Resolves after a run that started now or later. */
  async level(): Promise<void> {
    this.soon()
    await this.#running
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** Returns the error of the last run, or null. */
  async #runs(): Promise<unknown> {
    let failed: unknown = null
    while (this.#again && !this.#closed) {
      this.#again = false
      try {
        await this.work()
        this.#failures = 0
        failed = null
      } catch (error) {
        this.onFailed(error)
        failed = error
      }
    }
    return failed
  }
}
