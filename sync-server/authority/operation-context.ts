import type {Json} from '../../runtime/protocol/json.ts'
import type {operationTransitions} from '../../runtime/protocol/operation.ts'
import type {OperationDefinition, OperationRequest, Operations} from '../define-operation.ts'
import type {FactSource} from '../facts.ts'
import type {LedgerRow, LockedSession} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {type Appended, appendServiceEvent} from './append-service-event.ts'
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
  return {operation: row.operation, input, tenant: row.tenant, subject: row.requestedBy}
}

/** What the state under the lock makes of it; `event` is null when somebody voided, decided or finished it meanwhile. */
export async function say(
  context: OperationContext,
  row: LedgerRow,
  draft: OperationDraft | ((session: LockedSession) => Promise<OperationDraft | null>),
): Promise<Appended['event']> {
  const where = {tenant: row.tenant, session: row.session}
  const about = async (session: LockedSession) => {
    const said = typeof draft === 'function' ? await draft(session) : draft
    return said && {run: row.run, ...said}
  }
  return (await appendServiceEvent(context, where, about)).event
}

export type OperationDraft = Extract<ServiceDraft, {kind: keyof typeof operationTransitions}>
