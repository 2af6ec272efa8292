import type {Decision, InboxItem} from '../../runtime/protocol/approval.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {ApprovalId, RunId, SessionId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Principal} from '../principal.ts'
import type {AuditEntry} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {appendServiceEvent} from './append-service-event.ts'
import type {Authority} from './authority.ts'

/**
 * Decides one approval, once: by a holder of its role, on the digest that was shown, before it expires. Every attempt
 * leaves an audit entry. [APP-1, APP-2, APP-3]
 *
 * @throws HoldfastError `not_found`, `forbidden`, `conflict` for another digest, `refused` when it is no longer open
 */
export async function decideApproval(
  authority: Authority,
  principal: Principal,
  approval: ApprovalId,
  decision: Decision,
): Promise<InboxItem> {
  const {store} = authority
  const item = await store.approvals.get(principal.tenant, approval)
  const fault = faultOf(principal, item, decision)
  if (!item || fault) throw await refuse(authority, principal, approval, fault ?? unknownApproval())
  await closeInTime(authority, principal, item)
  const audit = auditEntry(authority, principal, item.approval, decision)
  const draft = draftOf(item, principal, decision)
  const appended = await appendServiceEvent(authority, whereOf(principal.tenant, item), 'approvals', draft, audit)
  const now = await store.approvals.get(principal.tenant, approval)
  if (appended.refusal || !now) throw await refuse(authority, principal, approval, notOpen(now ?? item))
  return now
}

/** Writes down that nobody decided in time; true if this call did. */
export async function expireApproval(authority: Authority, tenant: TenantId, approval: ApprovalId): Promise<boolean> {
  const item = await authority.store.approvals.get(tenant, approval)
  if (item?.status !== 'open' || item.expiresAt > authority.environment.now()) return false
  const data = {approval, operation: item.operation}
  const draft = {kind: 'approval.expired' as const, run: item.run as RunId, data}
  return (await appendServiceEvent(authority, whereOf(tenant, item), 'approvals', draft)).refusal === null
}

function whereOf(tenant: TenantId, item: InboxItem): {tenant: TenantId; session: SessionId} {
  return {tenant, session: item.session as SessionId}
}

/** A stranger learns nothing, not even that the approval exists; the one who asked for it already knows. [ID-4] */
function faultOf(principal: Principal, item: InboxItem | null, decision: Decision): HoldfastError | null {
  if (!item) return unknownApproval()
  if (!principal.roles.includes(item.role)) {
    return item.requestedBy === principal.subject
      ? new HoldfastError('forbidden', `Only a holder of the role "${item.role}" may decide this.`)
      : unknownApproval()
  }
  if (item.status !== 'open') return notOpen(item)
  if (decision.digest === item.digest) return null
  return new HoldfastError('conflict', 'The digest is not that of the operation to decide; look at it again.')
}

async function closeInTime(authority: Authority, principal: Principal, item: InboxItem): Promise<void> {
  if (item.expiresAt > authority.environment.now()) return
  await expireApproval(authority, principal.tenant, item.approval)
  throw await refuse(authority, principal, item.approval, notOpen({...item, status: 'expired'}))
}

function unknownApproval(): HoldfastError {
  return new HoldfastError('not_found', 'No such approval.')
}

function notOpen(item: InboxItem): HoldfastError {
  const why = item.note === null ? '' : `: ${item.note}`
  return new HoldfastError('refused', `This approval is ${item.status}${why}; nothing was changed.`, {
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

function draftOf(item: InboxItem, principal: Principal, decision: Decision): ServiceDraft {
  const {approval, operation, digest} = item
  const run = item.run as RunId
  const said = {approval, operation, by: principal.subject, ...(decision.note !== undefined && {note: decision.note})}
  return decision.verdict === 'approve'
    ? {kind: 'approval.granted', run, data: {...said, digest}}
    : {kind: 'approval.rejected', run, data: said}
}

function auditEntry(authority: Authority, principal: Principal, about: ApprovalId, decision: Decision): AuditEntry {
  const {tenant, subject} = principal
  const action = decision.verdict === 'approve' ? 'approval.granted' : 'approval.rejected'
  return {tenant, subject, action, about, reason: decision.note ?? '', at: authority.environment.now()}
}

/** The audit entry stands in the tenant of whoever tried, also for an approval of another one. */
async function refuse(
  authority: Authority,
  {tenant, subject}: Principal,
  about: ApprovalId,
  error: HoldfastError,
): Promise<HoldfastError> {
  const at = authority.environment.now()
  const entry = {tenant, subject, action: 'approval.decision_refused' as const, about, reason: error.message, at}
  await authority.store.audit.record(entry)
  return error
}
