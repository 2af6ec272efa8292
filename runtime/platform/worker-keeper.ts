import {HoldfastError} from '../protocol/errors.ts'
import {type PageWorker, startPageWorker, type WorkerStart} from './page-worker.ts'
import type {Target} from './target.ts'
import type {ToPage} from './worker-messages.ts'

export interface WorkerKeeper {
  start(): void
  stop(reason: string): void
  /** Stops the worker that is and starts another. */
  replace(reason: string): void
}

/** A script that cannot be loaded fails for ever, and quickly; a worker that ran and crashed deserves another. */
const startAttempts = 5
/** A database with no room crashes whenever it is written to: the next of a row of crashes waits longer. */
const crashRow = {withinMs: 10_000, firstMs: 1_000, longestMs: 30_000}

/** Keeps one worker running and `target` pointing at it, until stopped. */
export function keepWorker(
  options: WorkerStart,
  target: Target,
  {hear, lost}: {hear(message: ToPage): void; lost(): void},
): WorkerKeeper {
  let current: PageWorker | undefined
  let restart: ReturnType<typeof setTimeout> | undefined
  let unanswered = 0
  let startedAt = 0
  let crashes = 0

  function start(): void {
    if (current) return
    unanswered++
    startedAt = performance.now()
    const started = startPageWorker(options, {
      hear: message => {
        if (message.holdfast === 'ready') unanswered = 0
        hear(message)
      },
      died: crashed,
    })
    current = started
    target.set(started.call)
  }

  function stop(reason: string): void {
    clearTimeout(restart)
    if (!current) return
    const stopped = current
    current = undefined
    target.unset(stopped.call)
    lost()
    stopped.stop(reason)
  }

  function crashed(reason: string): void {
    crashes = performance.now() - startedAt < crashRow.withinMs ? crashes + 1 : 0
    replace(reason, crashes < 2 ? 0 : Math.min(crashRow.firstMs * 2 ** (crashes - 2), crashRow.longestMs))
  }

  function replace(reason: string, waitMs = 0): void {
    if (!current) return
    stop(reason)
    if (unanswered < startAttempts) restart = setTimeout(start, Math.max(waitMs, 200 * unanswered))
    else target.fail(new HoldfastError('internal', `${reason} ${startAttempts} attempts failed.`), {forGood: true})
  }

  return {start, stop, replace: reason => replace(reason)}
}
