import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {isReadable, readEvent} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {RunId, SessionId} from '../../runtime/protocol/ids.ts'
import {type Passport, passportOf} from '../../runtime/protocol/passport.ts'
import {initialSession, type SessionState} from '../../runtime/protocol/session.ts'
import {wakeSchema} from '../../runtime/protocol/wire.ts'
import type {Authority} from '../authority/authority.ts'
import {wakeRun} from '../authority/wake-run.ts'
import type {Owner} from '../principal.ts'
import type {SessionStore} from '../storage/store.ts'
import {type App, readBody, runParam} from './http.ts'

export function runRoutes(app: App, authority: Authority): void {
  const {sessions} = authority.store
  app.get('/v1/runs/:id/passport', async c => {
    const run = runParam(c)
    const passport = await findPassport(sessions, c.get('principal'), run, authority.environment.now())
    if (!passport) throw new HoldfastError('not_found', 'No such run.')
    return c.json(passport)
  })

  app.post('/v1/runs/:id/wake', async c => {
    const run = runParam(c)
    return c.json(await wakeRun(authority, c.get('principal'), run, await readBody(c, wakeSchema)))
  })
}

async function findPassport(sessions: SessionStore, owner: Owner, run: RunId, now: number): Promise<Passport | null> {
  const session = await sessions.sessionOfRun(owner, run)
  const state = session && (await sessions.state(owner, session))
  if (!state) return null
  return state.run?.id === run
    ? passportOf(state, undefined, state.head, now)
    : earlierPassport(sessions, owner, session, run)
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
  const may = {resume: over, retry: over, extend: over, migrate: over, cancel: over}
  return passport && {...passport, lastConfirmed: head, may: {...passport.may, ...may}}
}
