import type {Event} from '../../runtime/protocol/event.ts'
import type {SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {SealedEvent} from '../storage/store.ts'
import type {Authority} from './authority.ts'

type Where = {tenant: TenantId; subject: SubjectId; session: SessionId}

/**
 * Publishes the pokes for committed events. Must be called after the commit: a device that pulls earlier would miss
 * them.
 */
export function pokeAbout(
  authority: Authority,
  {tenant, subject, session}: Where,
  before: SessionState,
  sealed: readonly SealedEvent[],
): void {
  const last = sealed.at(-1)
  if (!last) return
  authority.bus.publish({type: 'head', tenant, subject, session, head: last.event.seq})
  const roles = new Set(sealed.flatMap(({event}) => rolesTouched(before, event)))
  for (const role of roles) pokeInboxes(authority, tenant, role)
}

/** Pokes the inboxes of all who hold the role by token or by delegation. */
export function pokeInboxes(authority: Authority, tenant: TenantId, role: string): void {
  authority.bus.publish({type: 'inbox', tenant, role})
  void pokeDelegates(authority, tenant, role)
}

async function pokeDelegates({store, environment, bus, onFault}: Authority, tenant: TenantId, role: string) {
  try {
    for (const subject of await store.delegations.holders(tenant, role, environment.now())) {
      bus.publish({type: 'inbox', tenant, subject})
    }
  } catch (error) {
    onFault(error)
  }
}

/** Returns the roles whose inboxes an event changes. */
function rolesTouched(before: SessionState, event: Event): string[] {
  if (event.kind === 'approval.requested') return [event.data.role]
  if (!('operation' in event.data)) return []
  const id = event.data.operation
  const operation = before.operations.find(open => open.id === id)
  const escalated = event.kind === 'approval.escalated' ? event.data.role : operation?.approval?.escalatedTo
  // A verdict requires an earlier start, which `before` contains.
  return [operation?.approval?.role, escalated, operation?.verdictRole].filter(role => role != null)
}
