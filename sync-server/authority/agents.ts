import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {AgentManifest} from '../../runtime/protocol/wire.ts'
import type {Principal} from '../principal.ts'
import type {AuditEntry} from '../storage/store.ts'
import type {Authority} from './authority.ts'

export type Publishing = Authority & {publisherRole: string}

/**
 * Publishes a version of an agent. Idempotent for the same manifest. A different manifest for a published version is
 * refused, because runs may be pinned to it. [PIN-1, PIN-2]
 *
 * @throws HoldfastError `forbidden` without the publisher's role, `conflict` for a different manifest of this version
 */
export async function publishVersion(
  authority: Publishing,
  principal: Principal,
  name: string,
  manifest: AgentManifest,
): Promise<void> {
  const about = `${name}@${manifest.version}`
  await requirePublisher(authority, principal, about)
  const where = {tenant: principal.tenant, name}
  const audit = entry(authority, principal, {action: 'agent.published', about, reason: manifest.toolsHash})
  const outcome = await authority.store.agents.publish(where, manifest, audit)
  if (outcome === 'conflict') {
    const reason = `Version ${manifest.version} of "${name}" is published with another manifest; raise the version.`
    await authority.store.audit.record(entry(authority, principal, {action: 'agent.refused', about, reason}))
    throw new HoldfastError('conflict', reason, {details: {field: 'version'}})
  }
  if (outcome === 'published') authority.bus.publish({type: 'agents', tenant: principal.tenant})
}

/**
 * Makes a version the one that new runs use. A started run stays on its pinned version. [PIN-2]
 *
 * @throws HoldfastError `forbidden` without the publisher's role, `not_found` for a version that is not published
 */
export async function activateVersion(
  authority: Publishing,
  principal: Principal,
  name: string,
  version: string,
): Promise<void> {
  const about = `${name}@${version}`
  await requirePublisher(authority, principal, about)
  const audit = entry(authority, principal, {action: 'agent.activated', about, reason: 'New runs take this version.'})
  const known = await authority.store.agents.activate({tenant: principal.tenant, name}, version, audit)
  if (!known) throw new HoldfastError('not_found', `No version ${version} of "${name}" is published; publish it first.`)
  authority.bus.publish({type: 'agents', tenant: principal.tenant})
}

async function requirePublisher(authority: Publishing, principal: Principal, about: string): Promise<void> {
  const {publisherRole, store} = authority
  if (principal.roles.includes(publisherRole)) return
  const reason = `Publishing agents needs the role "${publisherRole}".`
  await store.audit.record(entry(authority, principal, {action: 'agent.refused', about, reason}))
  throw new HoldfastError('forbidden', reason, {details: {role: publisherRole}})
}

function entry(
  {environment}: Authority,
  {tenant, subject}: Principal,
  what: Pick<AuditEntry, 'action' | 'about' | 'reason'>,
): AuditEntry {
  return {tenant, subject, ...what, at: environment.now()}
}
