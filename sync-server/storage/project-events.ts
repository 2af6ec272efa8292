import type {Endorsement} from '../../runtime/protocol/approval.ts'
import {blobsOf} from '../../runtime/protocol/blob.ts'
import type {DataOf, Event, EventOf} from '../../runtime/protocol/event.ts'
import type {OperationId, SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import {nameBlobs} from './pg-blobs.ts'
import {projectRunTotals} from './project-run-totals.ts'
import {type SqlQuery, type SqlValue, valuesList} from './sql.ts'
import {callsIn, type SealedEvent} from './store.ts'

export type Where = {tenant: TenantId; session: SessionId; subject: SubjectId}

/**
 * Updates runs, ledger and approvals in the transaction that appends to the log. They are folds of the events and are
 * written nowhere else, so a record never states what no event contains. [APP-3, OP-3]
 */
export async function projectEvents(
  tx: SqlQuery,
  where: Where,
  sealed: readonly SealedEvent[],
  at: number,
): Promise<void> {
  for (const {event} of sealed) {
    await project(tx, where, event, at)
    await projectRunTotals(tx, where, event, at)
    await nameBlobs(tx, where, blobsOf(event))
  }
}

async function project(tx: SqlQuery, where: Where, event: Event, at: number): Promise<void> {
  const settle = (status: OperationStatus, outcome: unknown, operation: OperationId) =>
    moveOperation(tx, where, {operation, status, outcome, at})
  const close = (status: string, operation: OperationId, by: SubjectId | null, note: string | null | undefined) =>
    closeApproval(tx, where, {operation, status, by, note: note ?? null, at})
  switch (event.kind) {
    case 'run.started':
      return insert(tx, 'hf_runs', {tenant: where.tenant, id: event.run ?? '', session: where.session})
    case 'model.replied':
      return insertCalls(tx, where, event)
    case 'operation.proposed':
      return insertOperation(tx, where, event, at)
    case 'operation.authorised':
      return authorise(tx, where, event.data, 'authorised', at)
    case 'approval.requested':
      await authorise(tx, where, event.data, 'awaiting_approval', at)
      return insertApproval(tx, where, event, at)
    case 'approval.endorsed':
      return endorse(tx, where, event.data, at)
    case 'approval.escalated':
      await tx.query('UPDATE hf_approvals SET escalated_at = $3 WHERE tenant = $1 AND id = $2', [
        where.tenant,
        event.data.approval,
        at,
      ])
      return
    case 'approval.granted':
      await settle('authorised', null, event.data.operation)
      await endorse(tx, where, event.data, at)
      return close('granted', event.data.operation, event.data.by, event.data.note)
    case 'approval.rejected':
      await settle('rejected', {by: event.data.by, note: event.data.note ?? null}, event.data.operation)
      return close('rejected', event.data.operation, event.data.by, event.data.note)
    case 'approval.expired':
      await settle('expired', null, event.data.operation)
      return close('expired', event.data.operation, null, null)
    case 'operation.voided':
      await settle('voided', {reason: event.data.reason}, event.data.operation)
      return close('voided', event.data.operation, null, event.data.reason)
    case 'operation.started':
      await settle('started', null, event.data.operation)
      await tx.query(
        'UPDATE hf_operations SET started_at = $3, amount = $4, verdict_role = $5 WHERE tenant = $1 AND id = $2',
        [where.tenant, event.data.operation, at, event.data.amount ?? null, event.data.verdictRole ?? null],
      )
      return
    case 'operation.executed':
      return settle('executed', event.data.receipt, event.data.operation)
    case 'operation.failed':
      return settle('failed', {reason: event.data.reason}, event.data.operation)
    case 'operation.uncertain':
      return settle('uncertain', {reason: event.data.reason}, event.data.operation)
    case 'operation.refused':
      await settle('refused', {code: event.data.code, reason: event.data.reason}, event.data.operation)
      return close('voided', event.data.operation, null, event.data.reason)
    default:
      return
  }
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value ?? null)
}

async function insert(tx: SqlQuery, table: string, row: Record<string, SqlValue>): Promise<void> {
  const columns = Object.keys(row)
  const marks = columns.map((_, index) => `$${index + 1}`)
  await tx.query(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks.join(', ')})`, Object.values(row))
}

/** Reserves the ids of calls, so that no later run of any session can reuse one. [ID-1] */
async function insertCalls(tx: SqlQuery, {tenant, session}: Where, event: EventOf<'model.replied'>): Promise<void> {
  const rows = callsIn(event).map((call): SqlValue[] => [tenant, call, session, event.run ?? ''])
  if (rows.length === 0) return
  await tx.query(`INSERT INTO hf_calls (tenant, id, session, run) VALUES ${valuesList(rows.length, 4)}`, rows.flat())
}

function insertOperation(tx: SqlQuery, where: Where, event: Event & {data: DataOf<'operation.proposed'>}, at: number) {
  const {operation, call, tool, version, input, basis} = event.data
  return insert(tx, 'hf_operations', {
    tenant: where.tenant,
    id: operation,
    session: where.session,
    run: event.run ?? '',
    call,
    requested_by: where.subject,
    tool: jsonText(tool),
    version: jsonText(version),
    input: jsonText(input),
    basis: jsonText(basis),
    status: 'proposed',
    outcome: 'null',
    proposed_at: at,
    updated_at: at,
  })
}

function insertApproval(tx: SqlQuery, where: Where, event: Event & {data: DataOf<'approval.requested'>}, at: number) {
  const {approval, operation, digest, role, reason, expiresAt, shown, approvers = 1, escalation} = event.data
  return insert(tx, 'hf_approvals', {
    tenant: where.tenant,
    id: approval,
    operation,
    session: where.session,
    run: event.run ?? '',
    requested_by: where.subject,
    role,
    reason: jsonText(reason),
    digest,
    shown: jsonText(shown),
    status: 'open',
    note: 'null',
    requested_at: at,
    expires_at: expiresAt,
    approvers,
    requester_may_decide: (event.data.requesterMayDecide ?? approvers === 1) ? 1 : 0,
    escalates_to: escalation?.role ?? null,
    escalates_at: escalation?.at ?? null,
  })
}

/** Read-modify-write is safe: every event of the approval holds the session lock. */
async function endorse(
  tx: SqlQuery,
  {tenant}: Where,
  {approval, by, delegatedBy, note}: DataOf<'approval.endorsed'>,
  at: number,
): Promise<void> {
  const [row] = await tx.query<{endorsements: string}>(
    'SELECT endorsements FROM hf_approvals WHERE tenant = $1 AND id = $2',
    [tenant, approval],
  )
  const one: Endorsement = {by, at, delegatedBy: delegatedBy ?? null, note: note ?? null}
  await tx.query('UPDATE hf_approvals SET endorsements = $3 WHERE tenant = $1 AND id = $2', [
    tenant,
    approval,
    jsonText([...JSON.parse(row?.endorsements ?? '[]'), one]),
  ])
}

async function authorise(
  tx: SqlQuery,
  {tenant}: Where,
  {operation, digest}: {operation: OperationId; digest: string},
  status: OperationStatus,
  at: number,
): Promise<void> {
  await tx.query('UPDATE hf_operations SET status = $3, digest = $4, updated_at = $5 WHERE tenant = $1 AND id = $2', [
    tenant,
    operation,
    status,
    digest,
    at,
  ])
}

type Move = {operation: OperationId; status: OperationStatus; outcome: unknown; at: number}

async function moveOperation(tx: SqlQuery, {tenant}: Where, {operation, status, outcome, at}: Move): Promise<void> {
  await tx.query('UPDATE hf_operations SET status = $3, outcome = $4, updated_at = $5 WHERE tenant = $1 AND id = $2', [
    tenant,
    operation,
    status,
    jsonText(outcome),
    at,
  ])
}

type Closing = {operation: OperationId; status: string; by: SubjectId | null; note: string | null; at: number}

/** Closes an open approval only: a used approval stays used if its operation is voided later. */
async function closeApproval(tx: SqlQuery, {tenant}: Where, closing: Closing): Promise<void> {
  const {operation, status, by, note, at} = closing
  await tx.query(
    `UPDATE hf_approvals SET status = $3, decided_by = $4, note = $5, decided_at = $6
     WHERE tenant = $1 AND operation = $2 AND status = 'open'`,
    [tenant, operation, status, by, jsonText(note), at],
  )
}
