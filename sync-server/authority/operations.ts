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

/** Until somebody who waits for a free place looks again, should the word of it be lost with its process. */
const placePauseMs = 15_000

/** Where a move led; null when it led nowhere now: nothing is known yet, or somebody else has moved the operation. */
export type Led = OperationStatus | 'no_room' | null

/**
 * Takes an operation as far as it goes without a person, from the ledger alone, which is why a crash at any point is
 * picked up by whoever claims it next. The claim makes it the only one: what has started and is claimed is called by
 * nobody any more.
 *
 *   claim ─▶ read ledger row ─▶ one move ─┐   until it has ended, waits for a person or a free place, or is uncertain
 *               ▲                         │
 *               └─────────────────────────┘
 */
export function operationHandler(context: OperationContext, nudge: (ref: DueRef) => void) {
  /** Who waits for a free place of which tool, first come first; lost with the process, then their time brings them back. */
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
      // Waiting in line is no failure. Whoever leaves a place has the next one taken up at once.
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
    // Reading on would be wrong after a person's turn: whoever decides has it taken up by a claim of its own.
    if (led === null || led === 'no_room' || moveFor(led) === null) return {led, row}
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

const moves: Record<Move, (context: OperationContext, row: LedgerRow) => Promise<Led>> = {
  authorise: authoriseOperation,
  execute: executeOperation,
  // Whoever called it has died or given up: a call ends inside the claim that started it.
  doubt: async (context, row) => {
    const data: DataOf<'operation.uncertain'> = {
      operation: row.operation,
      reason: 'The server stopped between the call and its receipt.',
    }
    return (await say(context, row, {kind: 'operation.uncertain', data})) && 'uncertain'
  },
  reconcile: reconcileOperation,
}
