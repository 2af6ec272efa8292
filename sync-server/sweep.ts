import {expireApproval} from './authority/approvals.ts'
import {type Eraser, sweepErasures} from './authority/erase.ts'
import {defaultDeadlineMs, type OperationContext} from './authority/operation-context.ts'
import type {OperationDriver} from './authority/operations.ts'
import {sweepRetention} from './authority/retire.ts'
import type {ModelGateway} from './model-gateway.ts'
import type {Retention} from './retention.ts'

export type Swept = {
  context: OperationContext
  driver: OperationDriver
  eraser: Eraser
  gateway: ModelGateway
  retention: Retention
}

/**
 * One round of what only time brings about: undecided approvals, what outlived its retention, erasures, operations and
 * generations left open.
 */
export async function sweepOnce({context, driver, eraser, gateway, retention}: Swept): Promise<void> {
  const now = context.environment.now()
  for (const {tenant, approval} of await context.store.approvals.overdue(now, 100)) {
    await expireApproval(context, tenant, approval)
  }
  await sweepRetention(eraser, retention)
  await sweepErasures(eraser)
  await driver.scan(now - 2 * longestDeadline(context))
  await gateway.sweep()
}

function longestDeadline({operations}: OperationContext): number {
  return Math.max(defaultDeadlineMs, ...Object.values(operations).map(({deadlineMs}) => deadlineMs ?? 0))
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
