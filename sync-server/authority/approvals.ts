import {type ApprovalRecord, type Decision, rolesOf, standingOf} from '../../runtime/protocol/approval.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {DataOf, Event} from '../../runtime/protocol/event.ts'
import type {ApprovalId, RunId, SessionId, TenantId} from '../../runtime/protocol/ids.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {Principal} from '../principal.ts'
import type {AuditEntry, OperationRef} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {appendServiceEvent} from './append-service-event.ts'
import type {Authority} from './authority.ts'
import {type HeldRole, heldRoles} from './held-roles.ts'

export type Signed = NonNullable<DataOf<'approval.granted'>['signed']>
/** An approval that this caller may decide now, and the role that allows it. */
export type Decidable = {item: ApprovalRecord; by: HeldRole}

/**
 * Records the decision of one person on an approval. The person needs one of its roles and must send the digest that
 * was shown, before the approval expires. With several approvers, only the last approval grants. Every attempt is
 * audited. [APP-1, APP-2, APP-3]
 *
 * @throws HoldfastError `not_found`, `forbidden`, `conflict` for another digest, `refused` if it is not open
 */
export async function decideApproval(
  authority: Authority,
  principal: Principal,
  approval: ApprovalId,
  decision: Decision,
  signed?: Signed,
): Promise<ApprovalRecord> {
  const known = await authority.store.approvals.get(principal.tenant, approval)
  if (known && isDecidedSo(known, principal, decision)) return known
  const decidable = await checkDecision(authority, principal, approval, decision)
  const appended = await appendServiceEvent(
    authority,
    whereOf(principal.tenant, decidable.item),
    ({state}) => draftOf(state, decidable, principal, decision, signed),
    event => auditEntry(authority, principal, approval, event, decision),
  )
  const now = await authority.store.approvals.get(principal.tenant, approval)
  // Concurrent deliveries of one decision: the second finds under the lock that it has been made.
  if (now && isDecidedSo(now, principal, decision)) return now
  if (!appended.event || !now) throw await refuse(authority, principal, approval, notOpen(now ?? decidable.item))
  return now
}

/**
 * True if this person has already made this decision on this digest: a second click, or a retry after a lost
 * response.
 */
export function isDecidedSo(
  {status, digest, decidedBy, endorsements}: ApprovalRecord,
  {subject}: Principal,
  decision: Decision,
): boolean {
  if (decision.digest !== digest) return false
  if (decision.verdict === 'reject') return status === 'rejected' && decidedBy === subject
  const said = decidedBy === subject || endorsements.some(({by}) => by === subject)
  return said && (status === 'granted' || status === 'open')
}

/**
 * Checks a decision without the session lock. A refusal is audited.
 *
 * @throws HoldfastError as `decideApproval`
 */
export async function checkDecision(
  authority: Authority,
  principal: Principal,
  approval: ApprovalId,
  decision: Decision,
): Promise<Decidable> {
  const item = await authority.store.approvals.get(principal.tenant, approval)
  const found = judge(principal, item, decision, await heldRoles(authority, principal))
  if (found instanceof HoldfastError) throw await refuse(authority, principal, approval, found)
  if (found.item.expiresAt > authority.environment.now()) return found
  await expireApproval(authority, {tenant: principal.tenant, operation: found.item.operation})
  throw await refuse(authority, principal, approval, notOpen({...found.item, status: 'expired'}))
}

/** Records that an approval expired undecided. */
export async function expireApproval(authority: Authority, ref: OperationRef): Promise<void> {
  const item = await authority.store.approvals.of(ref)
  if (item?.status !== 'open' || item.expiresAt > authority.environment.now()) return
  const data = {approval: item.approval, operation: item.operation}
  const draft = {kind: 'approval.expired' as const, run: item.run as RunId, data}
  await appendServiceEvent(authority, whereOf(ref.tenant, item), () => draft)
}

/** Allows the escalation role to decide as well, because the first role has not decided in time. */
export async function escalateApproval(authority: Authority, ref: OperationRef): Promise<void> {
  const item = await authority.store.approvals.of(ref)
  if (item?.status !== 'open' || !item.escalation || item.escalation.happened) return
  const data = {approval: item.approval, operation: item.operation, role: item.escalation.role}
  const draft = {kind: 'approval.escalated' as const, run: item.run as RunId, data}
  await appendServiceEvent(authority, whereOf(ref.tenant, item), () => draft)
}

function whereOf(tenant: TenantId, item: ApprovalRecord): {tenant: TenantId; session: SessionId} {
  return {tenant, session: item.session as SessionId}
}

/**
 * Checks the caller's roles and the state of the approval. A caller without a role learns nothing, not even that the
 * approval exists, unless they requested it. [ID-4]
 */
function judge(
  principal: Principal,
  item: ApprovalRecord | null,
  decision: Decision,
  held: readonly HeldRole[],
): Decidable | HoldfastError {
  if (!item) return unknownApproval()
  const asked = item.requestedBy === principal.subject
  const roles = rolesOf(item)
  const by = held.find(({role}) => roles.includes(role))
  if (!by) {
    const error = new HoldfastError('forbidden', `Only a holder of the role "${roles.join('" or "')}" may decide this.`)
    return asked ? error : unknownApproval()
  }
  if (standingOf(item, principal.subject) === 'asked_for_it') {
    return new HoldfastError('forbidden', 'Whoever asked for this cannot be one of those who decide it.')
  }
  if (item.status !== 'open') return notOpen(item)
  if (decision.digest !== item.digest) {
    return new HoldfastError('conflict', 'The digest is not that of the operation to decide; look at it again.')
  }
  return decision.verdict === 'reject' ? {item, by} : judgeYes(principal, item, held)
}

/**
 * Checks an approval by role and delegation. A lender and their delegates count as one approver. Otherwise one holder
 * could provide all required approvals, or approve their own request through a delegate.
 */
function judgeYes({subject}: Principal, item: ApprovalRecord, held: readonly HeldRole[]): Decidable | HoldfastError {
  if (item.endorsements.some(({by}) => by === subject)) {
    return refusedDecision(item, 'You have said yes to this already; it waits for somebody else.')
  }
  const voices: string[] = item.endorsements.map(({by, delegatedBy}) => delegatedBy ?? by)
  if (!item.requesterMayDecide) voices.push(item.requestedBy)
  const by = held.find(({role, from}) => rolesOf(item).includes(role) && !voices.includes(from ?? subject))
  if (by) return {item, by}
  return refusedDecision(item, 'Whoever lent you the role has asked for this or said yes already; it needs another.')
}

function unknownApproval(): HoldfastError {
  return new HoldfastError('not_found', 'No such approval.')
}

function notOpen(item: ApprovalRecord): HoldfastError {
  const why = item.note === null ? '' : ` ${item.note}`
  return refusedDecision(item, `This approval is ${item.status}; nothing was changed.${why}`)
}

function refusedDecision(item: ApprovalRecord, message: string): HoldfastError {
  return new HoldfastError('refused', message, {
    details: {
      asked: 'a decision on an approval',
      met: `an approval that is ${item.status}`,
      owner: 'approval service',
      legal: [],
      status: item.status,
      decidedBy: item.decidedBy,
      reason: item.note,
    },
  })
}

/** Must be called under the lock: of two concurrent approvals, one endorses and the other grants. */
function draftOf(
  state: SessionState,
  {item, by: {from}}: Decidable,
  principal: Principal,
  {verdict, note}: Decision,
  signed: Signed | undefined,
): ServiceDraft {
  const {approval, operation, digest} = item
  const run = item.run as RunId
  const data = {
    approval,
    operation,
    by: principal.subject,
    ...(from !== null && {delegatedBy: from}),
    ...(note !== undefined && {note}),
    ...(signed && {signed}),
  }
  if (verdict === 'reject') return {kind: 'approval.rejected', run, data}
  const open = state.operations.find(({id}) => id === operation)?.approval
  const last = !open || open.endorsedBy.length + 1 >= open.approvers
  return {kind: last ? 'approval.granted' : 'approval.endorsed', run, data: {...data, digest}}
}

function auditEntry(
  {environment}: Authority,
  {tenant, subject}: Principal,
  about: ApprovalId,
  {kind}: Event,
  {note}: Decision,
): AuditEntry {
  const action = kind === 'approval.granted' || kind === 'approval.endorsed' ? kind : 'approval.rejected'
  return {tenant, subject, action, about, reason: note ?? '', at: environment.now()}
}

/** Audits a refused decision in the tenant of the caller, even if the approval belongs to another tenant. */
export async function refuse(
  {store, environment}: Authority,
  {tenant, subject}: Principal,
  about: ApprovalId,
  error: HoldfastError,
): Promise<HoldfastError> {
  const reason = error.message
  await store.audit.record({
    tenant,
    subject,
    action: 'approval.decision_refused',
    about,
    reason,
    at: environment.now(),
  })
  return error
}
