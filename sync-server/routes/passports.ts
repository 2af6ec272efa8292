import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {isReadable, readLoggedEvent} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import {type RunId, runIdSchema, type SessionId, sessionIdSchema} from '../../runtime/protocol/ids.ts'
import {overPassport, type Passport, passportOf} from '../../runtime/protocol/passport.ts'
import {passportSchema, standingEffectsSchema} from '../../runtime/protocol/passport-wire.ts'
import {initialSession, type SessionState} from '../../runtime/protocol/session.ts'
import type {Authority} from '../authority/authority.ts'
import {goneError} from '../authority/erase.ts'
import type {Owner} from '../principal.ts'
import {effectsAfter} from '../standing.ts'
import type {SessionStore} from '../storage/store.ts'
import type {App} from './http.ts'
import {digits, handle, route} from './route.ts'

const readPassport = route({
  name: 'readPassport',
  method: 'GET',
  path: '/v1/runs/:run/passport',
  summary: 'What run this is, where it stands and what is legal now, from records alone.',
  params: {run: runIdSchema},
  answers: {200: passportSchema},
  errors: ['not_found'],
})

const readEffects = route({
  name: 'readEffects',
  method: 'GET',
  path: '/v1/sessions/:session/effects',
  summary: 'The external effects after an event, which a branch there does not undo.',
  params: {session: sessionIdSchema},
  query: {after: digits('a sequence number').default('0').transform(Number)},
  answers: {200: standingEffectsSchema},
  errors: ['not_found', 'erased'],
})

export function passportRoutes(app: App, {store}: Authority): void {
  const {sessions} = store

  handle(app, readPassport, async ({params: {run}, principal: owner}) => {
    const passport = await findPassport(sessions, owner, run)
    if (!passport) throw new HoldfastError('not_found', 'No such run.')
    return passport
  })

  handle(app, readEffects, async ({params: {session}, query: {after}, principal: owner}) => {
    const effects = await effectsAfter(sessions, owner, {session, seq: after})
    if (!effects) throw await goneError(store, owner, session)
    return effects
  })
}

async function findPassport(sessions: SessionStore, owner: Owner, run: RunId): Promise<Passport | null> {
  const session = await sessions.sessionOfRun(owner, run)
  const state = session && (await sessions.state(owner, session))
  if (!state) return null
  const passport = state.run?.id === run ? passportOf(state) : await earlierPassport(sessions, owner, session, run)
  const standing = passport?.branch && (await effectsAfter(sessions, owner, passport.branch.from))
  return passport?.branch && standing ? {...passport, branch: {...passport.branch, standing}} : passport
}

/** Control state covers the latest run only, so the passport of an earlier run is folded from the log. [ID-5] */
async function earlierPassport(
  sessions: SessionStore,
  owner: Owner,
  session: SessionId,
  run: RunId,
): Promise<Passport | null> {
  let state: SessionState = initialSession
  for (;;) {
    const page = await sessions.page(owner, session, state.head)
    if (!page || page.events.length === 0) return null
    for (const envelope of page.events) {
      const event = readLoggedEvent(envelope)
      if (state.run?.id === run && isReadable(event) && event.kind === 'run.started') return over(state, page.head)
      state = evolve(state, event)
    }
  }
}

function over(state: SessionState, head: number): Passport | null {
  const passport = passportOf(state)
  return passport && overPassport({...passport, lastConfirmed: head}, 'superseded')
}
