import type {Log} from '../runtime/protocol/log-line.ts'
import type {DueWorker} from './authority/due-worker.ts'
import {type Eraser, sweepErasures} from './authority/erase.ts'
import {expireMemory} from './authority/memory.ts'
import type {MemoryContext} from './authority/memory-context.ts'
import {type Retired, sweepRetention} from './authority/retire.ts'
import type {fileSweeper} from './authority/sweep-erased-files.ts'
import type {ModelGateway} from './models/gateway.ts'
import type {Retention} from './retention.ts'

export type Sweeper = {
  worker: DueWorker
  eraser: Eraser
  gateway: ModelGateway
  retention: Retention
  memory: MemoryContext
  sweepFiles: ReturnType<typeof fileSweeper>
  /** True while the clock may be wrong after a jump. */
  inDoubt(): boolean
}

/** Number of items of each kind that a round ended or started. */
export type Swept = Retired & {due: number; erasures: number; files: number; generations: number; memory: number}

/** Runs one round of timed work: due work, retention, erasures, open generations, expired memory. */
export async function sweepOnce({
  worker,
  eraser,
  gateway,
  retention,
  memory,
  sweepFiles,
  inDoubt,
}: Sweeper): Promise<Swept> {
  const due = await worker.round()
  const retired = inDoubt() ? {sessions: 0, records: 0} : await sweepRetention(eraser, retention)
  const erasures = await sweepErasures(eraser)
  const files = await sweepFiles(inDoubt())
  const generations = await gateway.sweep()
  return {due, ...retired, erasures, files, generations, memory: inDoubt() ? 0 : await expireMemory(memory)}
}

/** Logs the result of a round. Rounds without results are not logged. */
export function tellSwept(log: Log, swept: Swept): void {
  const found = Object.entries(swept).filter(([, count]) => count > 0)
  if (found.length > 0)
    log('sweep.done', Object.fromEntries(found.map(([kind, count]) => [`holdfast.swept.${kind}`, count])))
}

/**
 * Repeats `round` with `everyMs` between the end of one and the start of the next. Returns a function that stops it
 * and waits for the current round.
 */
export function repeat(
  round: () => Promise<void>,
  everyMs: number,
  onFault: (error: unknown) => void,
): () => Promise<void> {
  let stopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let under: Promise<void> = Promise.resolve()
  const arm = () => {
    timer = setTimeout(() => {
      under = round()
        .catch(onFault)
        .finally(() => {
          if (!stopped) arm()
        })
    }, everyMs)
  }
  arm()
  return () => {
    stopped = true
    clearTimeout(timer)
    return under
  }
}
