import type {DataOf} from '../../runtime/protocol/event.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import type {DueItem, DueRef} from '../storage/due-work.ts'
import type {LedgerRow, OperationRef} from '../storage/store.ts'
import {authoriseOperation} from './authorise-operation.ts'
import {backoffMs} from './due-worker.ts'
import {executeOperation} from './execute-operation.ts'
import {giveUp} from './give-up.ts'
import {type OperationContext, say} from './operation-context.ts'
import {reconcileOperation} from './reconcile-operation.ts'

/**
 * Time (ms) after which an operation that waits for a free slot tries again, if the notification was lost with its
 * process.
 */
const placePauseMs = 15_000

/**
 * The new status, or null if no move was made: the outcome is still unknown, or another process moved the operation.
 */
export type Led = OperationStatus | 'no_room' | null

/**
 * Returns the handler that advances an operation as far as possible without a person. It reads only the ledger, so
 * after a crash the next claim continues. The claim is exclusive. An operation that is claimed in state `started` was
 * interrupted, and is never called again.
 *
 *   claim ─▶ read ledger row ─▶ one move ─┐   until it ends, waits for a person or a slot, or is uncertain
 *               ▲                         │
 *               └─────────────────────────┘
 */
export function operationHandler(context: OperationContext, nudge: (ref: DueRef) => void) {
  /**
   * Operations waiting for a free slot, per tenant and tool, in FIFO order. Lost with the process; `placePauseMs`
   * then limits the wait.
   */
  const waiting = new Map<string, DueRef[]>()

  return async (item: DueItem) => {
    const ref = {tenant: item.tenant, operation: item.key as OperationRef['operation']}
    const moved = await advance(context, ref).catch(async (error: unknown) => {
      const row = await context.store.ledger.operation(ref)
      if (!(await giveUp(context, item, row))) throw error
      context.onFault(error, {event: 'operation.given_up', fields: {'holdfast.tenant': item.tenant}})
      return {led: 'refused' as const, row}
    })
    const {led, row} = moved
    const now = context.environment.now()
    const place = row ? `${row.tenant} ${row.tool}` : ''
    const others = (waiting.get(place) ?? []).filter(({key}) => key !== item.key)
    if (led === 'no_room') {
      waiting.set(place, [...others, item])
      // Waiting for a slot is no failure, so reset the attempts. The operation that frees a slot nudges the next one.
      return {at: now + placePauseMs, attempts: 0}
    }
    const [next, ...rest] = others
    if (rest.length > 0) waiting.set(place, rest)
    else waiting.delete(place)
    if (next) nudge(next)
    if (led !== null || (await giveUp(context, item, row))) return null
    return now + backoffMs(item.attempts)
  }
}

async function advance(context: OperationContext, ref: OperationRef): Promise<{led: Led; row: LedgerRow | null}> {
  for (;;) {
    const row = await context.store.ledger.operation(ref)
    const move = row && moveFor(row.status)
    if (!row || !move) return {led: row?.status ?? 'voided', row}
    const led = await moves[move](context, row)
    // Stop here if a person decides next: the decision schedules a claim of its own.
    if (led === null || led === 'no_room' || moveFor(led) === null) return {led, row}
  }
}

type Move = 'authorise' | 'execute' | 'doubt' | 'reconcile'

/** Returns the server's next move for a status, or null if it is not the server's turn. */
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

const moves: Record<Move, (context: OperationContext, row: LedgerRow) => Promise<Led>> = {
  authorise: authoriseOperation,
  execute: executeOperation,
  // Its caller crashed or timed out: a call ends within the claim that started it.
  doubt: async (context, row) => {
    const data: DataOf<'operation.uncertain'> = {
      operation: row.operation,
      reason: 'The server stopped between the call and its receipt.',
    }
    return (await say(context, row, {kind: 'operation.uncertain', data})) && 'uncertain'
  },
  reconcile: reconcileOperation,
}
