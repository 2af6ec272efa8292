import type {DueWorker} from './authority/due-worker.ts'
import {type Eraser, sweepErasures} from './authority/erase.ts'
import type {ModelGateway} from './model-gateway.ts'

/** One round of what only time brings about: whatever is due, erasures, and generations left open. */
export async function sweepOnce(worker: DueWorker, eraser: Eraser, gateway: ModelGateway): Promise<void> {
  await worker.round()
  await sweepErasures(eraser)
  await gateway.sweep()
}

/** Repeats `round` with `everyMs` between two, never two at once; returns a function that stops it and waits. */
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
