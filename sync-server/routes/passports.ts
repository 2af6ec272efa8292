import * as z from 'zod'
import {HoldfastError, parse} from '../../runtime/protocol/errors.ts'
import {isReadable, readEvent} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {RunId, SessionId} from '../../runtime/protocol/ids.ts'
import {overPassport, type Passport, passportOf} from '../../runtime/protocol/passport.ts'
import {initialSession, type SessionState} from '../../runtime/protocol/session.ts'
import type {Authority} from '../authority/authority.ts'
import {goneError} from '../authority/erase.ts'
import type {Owner} from '../principal.ts'
import {effectsAfter} from '../standing.ts'
import type {SessionStore} from '../storage/store.ts'
import {type App, runParam, sessionParam} from './http.ts'

const seqSchema = z.string().regex(/^\d{1,15}$/, 'expected a sequence number')

export function passportRoutes(app: App, {store, environment}: Authority): void {
  const {sessions} = store
  app.get('/v1/runs/:id/passport', async c => {
    const run = runParam(c)
    const passport = await findPassport(sessions, {owner: c.get('principal'), now: environment.now()}, run)
    if (!passport) throw new HoldfastError('not_found', 'No such run.')
    return c.json(passport)
  })

  app.get('/v1/sessions/:id/effects', async c => {
    const from = {session: sessionParam(c), seq: Number(parse(seqSchema, c.req.query('after') ?? '0', 'after'))}
    const effects = await effectsAfter(sessions, c.get('principal'), from)
    if (!effects) throw await goneError(store, c.get('principal'), from.session)
    return c.json(effects)
  })
}

async function findPassport(
  sessions: SessionStore,
  {owner, now}: {owner: Owner; now: number},
  run: RunId,
): Promise<Passport | null> {
  const session = await sessions.sessionOfRun(owner, run)
  const state = session && (await sessions.state(owner, session))
  if (!state) return null
  const passport =
    state.run?.id === run
      ? passportOf(state, undefined, state.head, now)
      : await earlierPassport(sessions, owner, session, run)
  const standing = passport?.branch && (await effectsAfter(sessions, owner, passport.branch.from))
  return passport?.branch && standing ? {...passport, branch: {...passport.branch, standing}} : passport
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
      if (state.run?.id === run && isReadable(event) && event.kind === 'run.started') return over(state, page.head)
      state = evolve(state, event)
    }
  }
}

function over(state: SessionState, head: number): Passport | null {
  const passport = passportOf(state)
  return passport && overPassport({...passport, lastConfirmed: head}, 'superseded')
}
