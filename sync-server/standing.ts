import {readLoggedEvent} from '../runtime/protocol/event.ts'
import type {SessionId} from '../runtime/protocol/ids.ts'
import {
  effectKinds,
  type StandingEffect,
  type StandingEffects,
  standingEffects,
} from '../runtime/protocol/standing-effects.ts'
import type {Owner} from './principal.ts'
import type {SessionStore} from './storage/store.ts'

/**
 * Returns the external effects that a branch at this event does not undo, including those of ancestors before each
 * branch point. Null if the owner has no such session. [RUN-6]
 */
export async function effectsAfter(
  sessions: SessionStore,
  owner: Owner,
  from: {session: SessionId; seq: number},
): Promise<StandingEffects | null> {
  if ((await sessions.state(owner, from.session)) === null) return null
  const effects: StandingEffect[] = []
  let at: {session: SessionId; seq: number} | null = from
  while (at) {
    const {session, seq}: {session: SessionId; seq: number} = at
    const state = await sessions.state(owner, session)
    if (!state) return {effects, missing: [session]}
    effects.push(...standingEffects(session, await effectEvents(sessions, owner, session), seq))
    at = state.forkedFrom
  }
  return {effects, missing: []}
}

/** Reads only effect events, so the cost does not depend on the length of the transcript. */
async function effectEvents(sessions: SessionStore, owner: Owner, session: SessionId) {
  const events = []
  for (let after = 0; ; ) {
    const page = await sessions.page(owner, session, after, effectKinds)
    if (!page || page.events.length === 0) return events
    events.push(...page.events.map(readLoggedEvent))
    after = page.events.at(-1)?.seq ?? page.head
  }
}
