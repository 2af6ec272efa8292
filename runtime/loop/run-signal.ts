import {HoldfastError} from '../protocol/errors.ts'
import type {EventId, RunId} from '../protocol/ids.ts'
import {sameJson} from '../protocol/json.ts'
import type {Pin} from '../protocol/pin.ts'
import {isActive, type RunState} from '../protocol/run.ts'
import type {LoopParts} from './perform-step.ts'

/** The abort signal for the current work of a run. */
export class RunSignal {
  #abort: {run: RunId; pin: Pin; interruptedBy: EventId | null; controller: AbortController} | null = null

  constructor(private readonly parts: Pick<LoopParts, 'log' | 'device'>) {}

  of({id: run, pin}: RunState): AbortSignal {
    const {interruptedBy} = this.parts.log.state
    if (this.#abort?.run !== run) this.#abort = {run, pin, interruptedBy, controller: new AbortController()}
    return this.#abort.controller.signal
  }

  /**
   * Aborts the work of a run that was ended elsewhere, or of a step that a newer instruction interrupted. Later work
   * gets a new signal. [RUN-3, RUN-7]
   */
  abortOvertaken(): void {
    const {run, interruptedBy, custody} = this.parts.log.state
    if (!this.#abort) return
    const ended = run === null || run.id !== this.#abort.run || !isActive(run) || custody.holder !== this.parts.device
    const moved = !ended && !sameJson(run.pin, this.#abort.pin)
    if (!ended && !moved && (interruptedBy === null || interruptedBy === this.#abort.interruptedBy)) return
    this.#abort.controller.abort(
      new HoldfastError(
        'cancelled',
        ended ? 'the run was ended or taken over' : 'a newer instruction or version overtook this',
      ),
    )
    this.#abort = null
  }

  abortAll(reason: HoldfastError): void {
    this.#abort?.controller.abort(reason)
  }
}
