/** Why a pause ended: its time passed, `hurry` was requested, or the state it depends on has changed. */
export type Woken = 'over' | 'hurry' | 'changed'

/** A pause that can be ended early. A `hurry` between two pauses skips the next one. */
export class Pause {
  #wake: ((why: Woken) => void) | null = null
  #skip = false

  /** With null, waits until `end` is called. */
  wait(ms: number | null): Promise<Woken> {
    if (this.#skip) {
      this.#skip = false
      return Promise.resolve('hurry')
    }
    return new Promise(resolve => {
      const timer = ms === null ? undefined : setTimeout(() => this.#wake?.('over'), ms)
      this.#wake = why => {
        this.#wake = null
        clearTimeout(timer)
        resolve(why)
      }
    })
  }

  end(why: Exclude<Woken, 'over'> = 'hurry'): void {
    if (this.#wake) this.#wake(why)
    else if (why === 'hurry') this.#skip = true
  }
}
