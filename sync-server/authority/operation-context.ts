import type {Json} from '../../runtime/protocol/json.ts'
import type {operationTransitions} from '../../runtime/protocol/operation.ts'
import type {OperationDefinition, OperationRequest, Operations} from '../define-operation.ts'
import type {FactSource} from '../facts.ts'
import type {OrphanedEffect} from '../storage/erasure-book.ts'
import type {LedgerRow, LockedSession} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {appendServiceEvent} from './append-service-event.ts'
import type {Authority} from './authority.ts'

export type OperationContext = Authority & {operations: Operations; facts: FactSource}

export const defaultDeadlineMs = 30_000

export function deadlineOf(definition: OperationDefinition): number {
  return definition.deadlineMs ?? defaultDeadlineMs
}

export function longestDeadline(operations: Operations): number {
  return Math.max(defaultDeadlineMs, ...Object.values(operations).map(({deadlineMs}) => deadlineMs ?? 0))
}

export function requestOf(row: LedgerRow, input: Json): OperationRequest<unknown> {
  const {operation, tenant, requestedBy: subject, session} = row
  return {operation, input, tenant, subject, session}
}

/**
 * Appends an event of the operation if the state under the lock allows it. Returns null if the operation was voided,
 * decided or completed meanwhile.
 */
export async function say(
  context: OperationContext,
  row: LedgerRow,
  draft: OperationDraft | ((session: LockedSession) => Promise<OperationDraft | null>),
): Promise<Pick<OperationDraft, 'kind'> | null> {
  const where = {tenant: row.tenant, session: row.session}
  const about = async (session: LockedSession) => {
    const said = typeof draft === 'function' ? await draft(session) : draft
    return said && {run: row.run, ...said}
  }
  const {event} = await appendServiceEvent(context, where, about)
  if (event) return {kind: event.kind as OperationDraft['kind']}
  if (typeof draft === 'function') return null
  return (await settleOrphan(context, row, draft)) ? {kind: draft.kind} : null
}

/**
 * Records the outcome of an effect whose session was erased while it ran. Only the ledger remains; there is no log.
 * [OP-4]
 */
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

export type OperationDraft = Extract<ServiceDraft, {kind: keyof typeof operationTransitions}>
