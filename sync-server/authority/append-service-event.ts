import {decide} from '../../runtime/protocol/decide.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import type {SessionId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Refusal} from '../../runtime/protocol/refusal.ts'
import type {AuditEntry, LockedSession} from '../storage/store.ts'
import {appendBatch, type ServiceDraft, serverEvent, serviceFor} from './append-batch.ts'
import type {Authority} from './authority.ts'
import {commitBatch} from './commit-batch.ts'
import {contentHash} from './hash.ts'
import {pokeAbout} from './poke.ts'

/** `refusal` is the reason why nothing was written. Both are null if `draftOf` returned no event under the lock. */
export type Appended = {refusal: Refusal | null; event: null} | {refusal: null; event: Event & {seq: number}}

/**
 * Appends an event of the server if the state under the lock allows it. State read before the lock may have changed,
 * so only the decision under the lock counts, and `draftOf` is called under the lock. [RUN-1, APP-2]
 */
export async function appendServiceEvent(
  authority: Authority,
  where: {tenant: TenantId; session: SessionId},
  draftOf: (session: LockedSession) => Promise<ServiceDraft | null> | ServiceDraft | null,
  auditOf?: (event: Event) => AuditEntry,
): Promise<Appended> {
  const {store, environment} = authority
  const result = await store.sessions.locked(where, async locked => {
    const draft = await draftOf(locked)
    if (!draft) return {refusal: null, event: null}
    const event = serverEvent(where.session, serviceFor(draft), draft, environment)
    const verdict = decide(locked.state, event)
    if (verdict.refusal) return {refusal: verdict.refusal, event: null}
    const batch = appendBatch(where.session, locked.state, environment)
    const numbered = batch.accept(event, await contentHash(event))
    await commitBatch(authority, where.tenant, locked, batch, auditOf?.(event))
    return {refusal: null, event: numbered, before: locked.state, subject: locked.subject, sealed: batch.sealed}
  })
  if (!result) return {refusal: erasedSession(), event: null}
  if (!result.value.event) return result.value
  const {event, before, subject, sealed} = result.value
  pokeAbout(authority, {...where, subject}, before, sealed)
  return {refusal: null, event}
}

function erasedSession(): Refusal {
  return {
    code: 'refused',
    asked: 'an event of the server',
    met: 'a session that was erased',
    owner: 'control plane',
    legal: [],
  }
}
