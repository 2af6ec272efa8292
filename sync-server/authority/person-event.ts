import type {Environment} from '../../runtime/protocol/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type Event, readEvent} from '../../runtime/protocol/event.ts'
import type {EventId, RunId, SessionId} from '../../runtime/protocol/ids.ts'
import type {EventVerdict} from '../../runtime/protocol/wire.ts'
import type {Principal} from '../principal.ts'
import {appendBatch} from './append-batch.ts'
import type {Authority} from './authority.ts'
import {commitBatch} from './commit-batch.ts'
import {contentHash} from './hash.ts'
import {judgeEvent, remember} from './judge-event.ts'
import {pokeAbout} from './poke.ts'

export type PersonDraft = {
  id: EventId
  session: SessionId
  run: RunId
} & ({kind: 'run.cancelled'; data: {reason?: string}} | {kind: 'run.retried'; data: Record<string, never>})

/**
 * Appends an event in the name of a person without a device, such as an operator's script. It has the same decider
 * and consequences as a device's event. Idempotent by event id. Returns its seq. [RUN-7, CUS-5]
 *
 * @throws HoldfastError `not_found`, `conflict` if the id is taken, `refused` if the run's state does not allow it
 */
export async function appendPersonEvent(
  authority: Authority,
  principal: Principal,
  draft: PersonDraft,
): Promise<number> {
  const {tenant, subject} = principal
  const {session} = draft
  const event = personEvent(principal, draft, authority.environment)
  const hash = await contentHash({...event, at: 0})
  const result = await authority.store.sessions.locked({tenant, subject, session}, async locked => {
    const batch = appendBatch(session, locked.state, authority.environment)
    const known = await locked.known([event])
    const judgement = judgeEvent(locked.state, known, {event, hash, fault: null})
    const nothing = {before: locked.state, sealed: batch.sealed}
    if ('verdict' in judgement) return {...nothing, verdict: judgement.verdict}
    const {seq} = batch.accept(event, hash)
    for (const {kind, run, data} of judgement.consequences) {
      await batch.serve('control', {kind, run, data, causes: [event.id]})
    }
    remember(known, event, seq, hash)
    await commitBatch(authority, tenant, locked, batch)
    const verdict: EventVerdict = {status: 'accepted', id: event.id, seq}
    return {before: locked.state, sealed: batch.sealed, verdict}
  })
  if (!result) throw new HoldfastError('not_found', 'No such session.')
  const {before, sealed, verdict} = result.value
  pokeAbout(authority, {tenant, subject, session}, before, sealed)
  if (verdict.status === 'rejected') throw HoldfastError.fromBody(verdict.error)
  return verdict.seq
}

function personEvent({subject}: Principal, draft: PersonDraft, environment: Environment): Event {
  const event = {
    seq: null,
    device: null,
    deviceSeq: null,
    actor: {type: 'person', subject},
    at: environment.now(),
    v: 1,
    ...draft,
  }
  return readEvent(event) as Event
}
