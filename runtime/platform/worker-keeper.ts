import {HoldfastError} from '../protocol/errors.ts'
import {type OpeningCause, openingCause} from '../protocol/opening.ts'
import {type LastOwner, lastOwnerOf} from './last-owner.ts'
import {paceMs} from './pace.ts'
import {type Death, type PageWorker, startPageWorker, type WorkerStart} from './page-worker.ts'
import {diagnoseScript} from './script-diagnosis.ts'
import type {Target} from './target.ts'
import type {ToPage} from './worker-messages.ts'

export interface WorkerKeeper {
  start(): void
  stop(reason: string): void
  /** Stops the current worker and starts a new one at once. During a back-off it starts the next one at once. */
  replace(reason: string): void
}

export interface KeeperEvents {
  hear(message: ToPage): void
  /** The worker has stopped. If the restart is delayed by a repeated failure, `failed` reports it. */
  lost(): void
  failed(failure: {cause: OpeningCause; failures: number; nextAt: number}): void
}

/** Back-off after repeated crashes. A database on a full disk crashes its worker at every write. */
const crashRow = {withinMs: 10_000, firstMs: 1_000, longestMs: 30_000}

/** Keeps one worker running and `target` set to it, until it is stopped. */
export function keepWorker(options: WorkerStart, target: Target, {hear, lost, failed}: KeeperEvents): WorkerKeeper {
  let current: PageWorker | undefined
  let restart: ReturnType<typeof setTimeout> | undefined
  /** Consecutive starts whose script did not run. */
  let unanswered = 0
  let startedAt = 0
  let crashes = 0
  /** Consecutive workers that reported `spent`. */
  let spent = 0
  let lastOwner: LastOwner | null = null

  function start(): void {
    if (current) return
    clearTimeout(restart)
    restart = undefined
    unanswered++
    startedAt = performance.now()
    try {
      current = startPageWorker({...options, lastOwner}, {hear: heard, died})
      target.set(current.call)
    } catch (error) {
      again(openingCause('script_error', error instanceof Error ? error.message : String(error)))
    }
  }

  function heard(message: ToPage): void {
    if (message.holdfast === 'ready') unanswered = 0
    if (message.holdfast === 'opening' && message.opening.state === 'open') {
      spent = 0
      lastOwner = lastOwnerOf(message.opening.storage)
    }
    if (message.holdfast === 'rescued' && lastOwner) lastOwner = {...lastOwner, rescued: message.rescued}
    hear(message)
    if (message.holdfast !== 'spent') return
    spent += 1
    stop(message.cause.details)
    again(message.cause, spent)
  }

  function stop(reason: string): void {
    clearTimeout(restart)
    restart = undefined
    if (!current) return
    const stopped = current
    current = undefined
    target.unset(stopped.call)
    lost()
    stopped.stop(reason)
  }

  function died(death: Death): void {
    const script = current?.script ?? null
    const neverRan = unanswered > 0
    crashes = performance.now() - startedAt < crashRow.withinMs ? crashes + 1 : 0
    stop(`The worker ended: ${death.details}`)
    if (neverRan) {
      const planned = setTimeout(start, paceMs(unanswered))
      restart = planned
      // By then the keeper may have been stopped, or may have started another worker.
      void causeOf(death, script).then(cause => restart === planned && !current && again(cause))
      return
    }
    const waitMs = crashes < 2 ? 0 : Math.min(crashRow.firstMs * 2 ** (crashes - 2), crashRow.longestMs)
    if (crashes >= 2) tell(openingCause('script_error', death.details), crashes, waitMs)
    restart = setTimeout(start, waitMs)
  }

  async function causeOf({how, details}: Death, script: string | null): Promise<OpeningCause> {
    if (how === 'not_loaded') return diagnoseScript(script, details)
    return openingCause(how === 'silent' ? 'no_answer' : 'script_error', details)
  }

  function again(cause: OpeningCause, failures = unanswered): void {
    clearTimeout(restart)
    const waitMs = paceMs(failures)
    tell(cause, failures, waitMs)
    target.fail(new HoldfastError('internal', cause.message, {details: {opening: cause.kind}}), {forGood: true})
    restart = setTimeout(start, waitMs)
  }

  function tell(cause: OpeningCause, failures: number, waitMs: number): void {
    failed({cause, failures, nextAt: Date.now() + waitMs})
  }

  function replace(reason: string): void {
    if (!current && restart === undefined) return
    stop(reason)
    restart = setTimeout(start, 0)
  }

  return {start, stop, replace}
}
