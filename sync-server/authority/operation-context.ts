import type {Json} from '../../runtime/protocol/json.ts'
import type {OperationDefinition, OperationRequest, Operations} from '../define-operation.ts'
import type {FactSource} from '../facts.ts'
import type {OrphanedEffect} from '../storage/erasure-book.ts'
import type {LedgerRow} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {appendServiceEvent} from './append-service-event.ts'
import type {Authority} from './authority.ts'

export type OperationContext = Authority & {operations: Operations; facts: FactSource}

export const defaultDeadlineMs = 30_000

export function deadlineOf(definition: OperationDefinition): number {
  return definition.deadlineMs ?? defaultDeadlineMs
}

export function requestOf(row: LedgerRow, input: Json): OperationRequest<unknown> {
  return {operation: row.operation, input, tenant: row.tenant, subject: row.requestedBy}
}

/** False when the state under the lock no longer allows it: somebody voided, decided or finished it meanwhile. */
export async function say(context: OperationContext, row: LedgerRow, draft: ServiceDraft): Promise<boolean> {
  const where = {tenant: row.tenant, session: row.session}
  const appended = await appendServiceEvent(context, where, 'operations', {run: row.run, ...draft})
  return appended.refusal === null || (await settleOrphan(context, row, draft))
}

/** An effect that was under way when its session was erased has ended: the ledger says how, there is no log to. [OP-4] */
async function settleOrphan({store, environment}: OperationContext, row: LedgerRow, draft: ServiceDraft) {
  const ended = outcomeOf(draft)
  if (!ended) return false
  return store.erasures.settle({...ended, tenant: row.tenant, operation: row.operation, at: environment.now()})
}

function outcomeOf(draft: ServiceDraft): Pick<OrphanedEffect, 'status' | 'outcome'> | null {
  switch (draft.kind) {
    case 'operation.executed':
      return {status: 'executed', outcome: draft.data.receipt}
    case 'operation.failed':
      return {status: 'failed', outcome: null}
    case 'operation.uncertain':
      return {status: 'uncertain', outcome: null}
    default:
      return null
  }
}
