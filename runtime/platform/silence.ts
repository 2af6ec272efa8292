/** Milliseconds without an answer after which the owner of the database is called frozen, and is taken over from. */
export const silence = {namedMs: 3_000, takenOverMs: 10_000}

export type Silence = {since: number; state: 'answers' | 'silent' | 'given_up'}

/**
 * Tells an owner that is frozen from one that is slow to answer. `tick` is called about once a second; a tick that
 * comes late means that this worker slept, and then nothing that it did not hear proves anything. Times are in
 * milliseconds of one monotonic clock.
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
