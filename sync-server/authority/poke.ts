import type {Event} from '../../runtime/protocol/event.ts'
import type {SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {SealedEvent} from '../storage/store.ts'
import type {Authority} from './authority.ts'

type Where = {tenant: TenantId; subject: SubjectId; session: SessionId}

/** Tells the live streams what a commit moved; called after it, since a poke before it could be pulled too early. */
export function pokeAbout(
  {bus}: Authority,
  {tenant, subject, session}: Where,
  before: SessionState,
  sealed: readonly SealedEvent[],
): void {
  const last = sealed.at(-1)
  if (!last) return
  bus.publish({type: 'head', tenant, subject, session, head: last.event.seq})
  const roles = new Set(sealed.flatMap(({event}) => roleTouched(before, event) ?? []))
  for (const role of roles) bus.publish({type: 'inbox', tenant, role})
}

/** The role whose inbox an event changes, if any. */
function roleTouched(before: SessionState, event: Event): string | null {
  if (event.kind === 'approval.requested') return event.data.role
  if (!('operation' in event.data)) return null
  const {operation} = event.data
  return before.operations.find(open => open.id === operation)?.approval?.role ?? null
}
