/** Ends a call that shows no sign of progress, apart from the bound on the whole. */
export class Silence {
  #timer: ReturnType<typeof setTimeout>
  #begun = false

  constructor(
    private readonly limits: {firstPartMs: number; silenceMs: number},
    private readonly onSilence: () => void,
  ) {
    this.#timer = setTimeout(onSilence, limits.firstPartMs)
  }

  /** A part has come; until the first of the reply itself, the longer of the two bounds holds. */
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
