import type {Delegation, NewDelegation} from '../../runtime/protocol/delegation.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {DelegationId, SubjectId} from '../../runtime/protocol/ids.ts'
import type {Owner, Principal} from '../principal.ts'
import type {AuditEntry} from '../storage/store.ts'
import type {Authority} from './authority.ts'

/** Maximum duration of a delegation: 90 days. Longer ones would not be reviewed. */
const longestMs = 90 * 86_400_000

/**
 * Delegates a role that the caller's own token names. A delegated role cannot be delegated further. Delegating the
 * same role to the same person again updates the end of the existing delegation.
 *
 * @throws HoldfastError `forbidden`, or `bad_input` if the receiver is the caller, or the end has passed or is more
 * than 90 days away
 */
export async function delegateRole(
  authority: Authority,
  principal: Principal,
  wish: NewDelegation,
): Promise<Delegation> {
  const {store, environment, bus} = authority
  const {tenant, subject} = principal
  const now = environment.now()
  const fault = faultOf(principal, wish, now)
  const reason = `${wish.role} to ${wish.to}: ${fault?.message ?? wish.reason ?? ''}`
  if (fault) {
    await store.audit.record(entry(principal, 'delegation.refused', subject, reason, now))
    throw fault
  }
  const delegation: Delegation = {
    delegation: environment.id('delegation'),
    role: wish.role,
    from: subject,
    to: wish.to,
    until: wish.until,
    reason: wish.reason ?? '',
    createdAt: now,
    revokedAt: null,
  }
  const {about: _, ...audit} = entry(principal, 'delegation.granted', subject, reason, now)
  const inForce = await store.delegations.add(tenant, delegation, audit)
  bus.publish({type: 'inbox', tenant, subject: wish.to})
  return inForce
}

/**
 * Revokes a delegation. Allowed for the lender, the receiver and holders of `operatorRole`.
 *
 * @throws HoldfastError `not_found`
 */
export async function revokeDelegation(
  authority: Authority,
  principal: Principal,
  id: DelegationId,
  operatorRole: string,
): Promise<Delegation> {
  const {store, environment, bus} = authority
  const {tenant, subject} = principal
  const now = environment.now()
  const found = await store.delegations.get(tenant, id)
  const mine = found && (found.from === subject || found.to === subject)
  if (!found || !(mine || principal.roles.includes(operatorRole))) {
    await store.audit.record(entry(principal, 'delegation.refused', id, 'No such delegation to revoke.', now))
    throw new HoldfastError('not_found', 'No such delegation.')
  }
  await store.delegations.revoke(tenant, id, now, entry(principal, 'delegation.revoked', id, '', now))
  bus.publish({type: 'inbox', tenant, subject: found.to})
  return (await store.delegations.get(tenant, id)) ?? found
}

/** Revokes all delegations of a lender. Called when the lender's access ends. */
export async function endLentRoles(
  {store, environment, bus}: Authority,
  lender: Owner,
  by: SubjectId,
  reason: string,
): Promise<void> {
  const at = environment.now()
  const audit = {tenant: lender.tenant, subject: by, action: 'delegation.revoked' as const, reason, at}
  for (const subject of await store.delegations.revokeAllFrom(lender, at, audit)) {
    bus.publish({type: 'inbox', tenant: lender.tenant, subject})
  }
}

function faultOf({subject, roles}: Principal, {role, to, until}: NewDelegation, now: number): HoldfastError | null {
  if (!roles.includes(role)) {
    return new HoldfastError('forbidden', 'Only a role that your own token names can be lent, and not lent on.')
  }
  if (to === subject) return wrong('to', 'expected somebody else')
  if (until <= now) return wrong('until', 'expected a time that has not passed')
  if (until > now + longestMs) return wrong('until', 'expected at most 90 days from now')
  return null
}

function wrong(field: string, expected: string): HoldfastError {
  return new HoldfastError('bad_input', `body.${field}: ${expected}`, {
    details: {what: 'body', issues: [{field, expected}]},
  })
}

function entry(
  {tenant, subject}: Principal,
  action: AuditEntry['action'],
  about: string,
  reason: string,
  at: number,
): AuditEntry {
  return {tenant, subject, action, about, reason, at}
}
