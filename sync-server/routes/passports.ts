import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {isReadable, readEvent} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {RunId, SessionId} from '../../runtime/protocol/ids.ts'
import {type Passport, passportOf} from '../../runtime/protocol/passport.ts'
import {initialSession, type SessionState} from '../../runtime/protocol/session.ts'
import type {Owner} from '../principal.ts'
import type {SessionStore, Store} from '../storage/store.ts'
import {type App, runParam} from './http.ts'

export function passportRoutes(app: App, {sessions}: Store): void {
  app.get('/v1/runs/:id/passport', async c => {
    const run = runParam(c)
    const passport = await findPassport(sessions, c.get('principal'), run)
    if (!passport) throw new HoldfastError('not_found', 'No such run.')
    return c.json(passport)
  })
}

async function findPassport(sessions: SessionStore, owner: Owner, run: RunId): Promise<Passport | null> {
  const session = await sessions.sessionOfRun(owner, run)
  const state = session && (await sessions.state(owner, session))
  if (!state) return null
  return state.run?.id === run ? passportOf(state) : earlierPassport(sessions, owner, session, run)
}

/** Control state knows the latest run only; what an earlier one was is folded from the log, as it last stood. [ID-5] */
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
      const event = readEvent(envelope)
      if (state.run?.id === run && isReadable(event) && event.kind === 'run.started')
        return superseded(state, page.head)
      state = evolve(state, event)
    }
  }
}

function superseded(state: SessionState, head: number): Passport | null {
  const passport = passportOf(state)
  const over = {legal: false, why: 'A later run of this session has started.'}
  return passport && {...passport, lastConfirmed: head, may: {...passport.may, resume: over, retry: over, cancel: over}}
}
