import {HoldfastError} from '../protocol/errors.ts'

/** Limits of one model call in milliseconds. */
export type CallLimits = {
  /** Until the first part of the reply. Any heartbeat restarts the period. */
  firstMs: number
  /** Between two later parts. It never stops a slow but steady stream. */
  silenceMs: number
  /** From start to end. */
  totalMs: number
}

/** Longer timers fire at once. */
const longestTimerMs = 2 ** 31 - 1

/** Aborts its signal when a call is silent for too long or exceeds its total time. [BUD-1] */
export class CallClock {
  readonly #abort = new AbortController()
  readonly #total: ReturnType<typeof setTimeout>
  #begun = false
  #silence: ReturnType<typeof setTimeout>

  constructor(private readonly limits: CallLimits) {
    const {firstMs, totalMs} = limits
    this.#total = setTimeout(() => this.#abort.abort(tooLong(totalMs)), bounded(totalMs))
    this.#silence = this.#silentAfter(firstMs, `The model sent nothing within ${firstMs} ms.`)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** A part has arrived: content of the reply, or only a heartbeat. */
  progressed(content: boolean): void {
    const {firstMs, silenceMs} = this.limits
    this.#begun ||= content
    clearTimeout(this.#silence)
    if (this.#abort.signal.aborted) return
    const ms = this.#begun ? silenceMs : Math.max(firstMs, silenceMs)
    this.#silence = this.#silentAfter(ms, `The model sent nothing more for ${ms} ms.`)
  }

  stop(): void {
    clearTimeout(this.#silence)
    clearTimeout(this.#total)
  }

  #silentAfter(ms: number, message: string): ReturnType<typeof setTimeout> {
    const silent = () =>
      this.#abort.abort(new HoldfastError('model_failed', message, {details: {reason: 'timeout', retryable: true}}))
    return setTimeout(silent, bounded(ms))
  }
}

/** A retry would cost the same and most likely take as long, so a person decides. */
function tooLong(totalMs: number): HoldfastError {
  return new HoldfastError('model_failed', `The model did not finish within ${totalMs} ms.`, {
    details: {reason: 'timeout', retryable: true, tryAgain: false},
  })
}

function bounded(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), longestTimerMs)
}
