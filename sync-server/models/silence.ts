/** Ends a call that makes no progress. Independent of the limit on its total duration. */
export class Silence {
  #timer: ReturnType<typeof setTimeout>
  #begun = false

  constructor(
    private readonly limits: {firstPartMs: number; silenceMs: number},
    private readonly onSilence: () => void,
  ) {
    this.#timer = setTimeout(onSilence, limits.firstPartMs)
  }

  /** Restarts the timer after a part. Until the first part of the reply itself, the longer of both limits applies. */
  heard({type}: {type: string}): void {
    const {firstPartMs, silenceMs} = this.limits
    this.#begun ||= !['stream-start', 'response-metadata', 'ping', 'raw'].includes(type)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.onSilence, this.#begun ? silenceMs : Math.max(firstPartMs, silenceMs))
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
