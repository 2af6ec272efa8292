import type {OperationId} from '../../runtime/protocol/ids.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import type {LedgerRow, OperationRef} from '../storage/store.ts'
import {authoriseOperation} from './authorise-operation.ts'
import {executeOperation} from './execute-operation.ts'
import {type OperationContext, say} from './operation-context.ts'
import {reconcileOperation} from './reconcile-operation.ts'
import {workQueue} from './work-queue.ts'

export type OperationDriver = {
  /** Takes an operation as far as it goes without a person; safe to call at any time, any number of times. */
  drive(ref: OperationRef): void
  /** Drives whatever the ledger holds open; `startedBefore` (ms) spares calls that may still be under way. */
  scan(startedBefore: number): Promise<void>
  /** Resolves when nothing is being driven. */
  idle(): Promise<void>
  /** Takes no more work and waits for what is under way. */
  close(): Promise<void>
}

/**
 * Drives operations from the ledger alone, which is why a crash at any point is picked up by the next scan. One drive
 * an operation at a time; a failing one is left for a later scan, less and less often.
 *
 *   drive ─▶ read ledger row ─▶ one move ─┐   until the status stops changing:
 *              ▲                          │   it has ended, waits for a person, or is uncertain
 *              └──────────────────────────┘
 */
export function operationDriver(context: OperationContext): OperationDriver {
  const queue = workQueue(32)
  const waiting = new Map<OperationId, {tries: number; notBefore: number}>()

  const drive = (ref: OperationRef) => {
    queue.add(ref.operation, async () => {
      try {
        const settled = await advance(context, ref)
        if (settled) waiting.delete(ref.operation)
        else postpone(ref)
      } catch (error) {
        postpone(ref)
        context.onFault(error)
      }
    })
  }
  const postpone = ({operation}: OperationRef) => {
    const tries = (waiting.get(operation)?.tries ?? 0) + 1
    waiting.set(operation, {tries, notBefore: context.environment.now() + Math.min(1000 * 2 ** tries, 600_000)})
  }

  return {
    drive,
    scan: async startedBefore => {
      const now = context.environment.now()
      for (const ref of await context.store.ledger.open({startedBefore, limit: 1000})) {
        if ((waiting.get(ref.operation)?.notBefore ?? 0) <= now) drive(ref)
      }
    },
    idle: queue.idle,
    close: queue.close,
  }
}

/** True when there is nothing more to do without a person. */
async function advance(context: OperationContext, ref: OperationRef): Promise<boolean> {
  let before: OperationStatus | null = null
  for (;;) {
    const row = await context.store.ledger.operation(ref)
    if (!row) return true
    if (row.status === before) return false
    before = row.status
    const move = moveFor(row.status)
    if (move === null) return true
    await moves[move](context, row)
  }
}

type Move = 'authorise' | 'execute' | 'doubt' | 'reconcile'

/** What the server does about an operation by itself, told by its status alone; null when it is not its turn. */
export function moveFor(status: OperationStatus): Move | null {
  switch (status) {
    case 'proposed':
      return 'authorise'
    case 'authorised':
      return 'execute'
    case 'started':
      return 'doubt'
    case 'uncertain':
      return 'reconcile'
    default:
      return null
  }
}

const moves: Record<Move, (context: OperationContext, row: LedgerRow) => Promise<unknown>> = {
  authorise: authoriseOperation,
  execute: executeOperation,
  // Nobody in this process is calling it: a call ends inside the move that started it.
  doubt: (context, row) =>
    say(context, row, {
      kind: 'operation.uncertain',
      data: {operation: row.operation, reason: 'The server stopped between the call and its receipt.'},
    }),
  reconcile: reconcileOperation,
}
