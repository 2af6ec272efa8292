/** Milliseconds without an answer after which the owner is shown as frozen, and after which the lock is stolen. */
export const silence = {namedMs: 3_000, takenOverMs: 10_000}

export type Silence = {since: number; state: 'answers' | 'silent' | 'given_up'}

/**
 * Detects a frozen owner. Call `tick` about once a second. A late tick means that this worker itself was suspended; the
 * measurement then starts again. Times are in milliseconds of one monotonic clock.
 */
export class SilenceWatch {
  #heardAt: number
  #tickedAt: number

  constructor(now: number) {
    this.#heardAt = now
    this.#tickedAt = now
  }

  heard(now: number): void {
    this.#heardAt = now
  }

  tick(now: number): Silence {
    if (now - this.#tickedAt > latestTickMs) this.#heardAt = now
    this.#tickedAt = now
    const silentMs = now - this.#heardAt
    if (silentMs >= silence.takenOverMs) return {since: this.#heardAt, state: 'given_up'}
    return {since: this.#heardAt, state: silentMs >= silence.namedMs ? 'silent' : 'answers'}
  }
}

const latestTickMs = 2_500
