import {decide} from '../../runtime/protocol/decide.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import type {SessionId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Refusal} from '../../runtime/protocol/refusal.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {AuditEntry} from '../storage/store.ts'
import {appendBatch, type ServiceDraft, type ServiceName, serverEvent} from './append-batch.ts'
import type {Authority} from './authority.ts'
import {contentHash} from './hash.ts'
import {pokeAbout} from './poke.ts'

export type Appended = {refusal: Refusal} | {refusal: null; event: Event & {seq: number}; state: SessionState}

/**
 * Appends one event of the server's own if the state under the lock still allows it. Whatever was looked up before may
 * have moved; only what `decide` meets here counts. [RUN-1, APP-2]
 */
export async function appendServiceEvent(
  authority: Authority,
  where: {tenant: TenantId; session: SessionId},
  service: ServiceName,
  draft: ServiceDraft,
  audit?: AuditEntry,
): Promise<Appended> {
  const {store, environment} = authority
  const result = await store.sessions.locked(where, async locked => {
    const batch = appendBatch(where.session, locked.state, environment)
    const event = serverEvent(where.session, service, draft, environment)
    const verdict = decide(locked.state, event)
    if (verdict.refusal) return {refusal: verdict.refusal}
    const numbered = batch.accept(event, await contentHash(event))
    await locked.append(batch.sealed, {state: batch.state, at: environment.now(), ...(audit && {audit})})
    return {
      refusal: null,
      event: numbered,
      before: locked.state,
      after: batch.state,
      subject: locked.subject,
      sealed: batch.sealed,
    }
  })
  if (!result) return {refusal: erasedSession(draft.kind)}
  if (result.value.refusal) return result.value
  const {event, before, after, subject, sealed} = result.value
  pokeAbout(authority, {...where, subject}, before, sealed)
  return {refusal: null, event, state: after}
}

function erasedSession(asked: string): Refusal {
  return {code: 'refused', asked, met: 'a session that was erased', owner: 'control plane', legal: []}
}
