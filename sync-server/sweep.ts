import type {DueWorker} from './authority/due-worker.ts'
import {type Eraser, sweepErasures} from './authority/erase.ts'
import {sweepRetention} from './authority/retire.ts'
import type {ModelGateway} from './models/gateway.ts'
import type {Retention} from './retention.ts'

export type Swept = {worker: DueWorker; eraser: Eraser; gateway: ModelGateway; retention: Retention}

/** One round of what only time brings about: whatever is due, what outlived its retention, erasures, open generations. */
export async function sweepOnce({worker, eraser, gateway, retention}: Swept): Promise<void> {
  await worker.round()
  await sweepRetention(eraser, retention)
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
