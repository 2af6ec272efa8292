import * as z from 'zod'
import {parse} from '../../runtime/protocol/errors.ts'
import {type Page, type PushAnswer, pushSchema} from '../../runtime/protocol/wire.ts'
import {admitEvents} from '../authority/admit-events.ts'
import type {Authority} from '../authority/authority.ts'
import type {DueWorker} from '../authority/due-worker.ts'
import {goneError} from '../authority/erase.ts'
import {type App, readBody, sessionParam} from './http.ts'

const cursorSchema = z.string().regex(/^\d{1,15}$/, 'expected a sequence number')

export function eventRoutes(app: App, authority: Authority, worker: DueWorker): void {
  app.post('/v1/sessions/:id/events', async c => {
    const session = sessionParam(c)
    const principal = c.get('principal')
    const {events} = await readBody(c, pushSchema)
    const {verdicts, head, proposed} = await admitEvents(authority, principal, session, events)
    for (const key of proposed) worker.nudge({tenant: principal.tenant, name: 'operation', key})
    return c.json({verdicts, head} satisfies PushAnswer)
  })

  app.get('/v1/sessions/:id/events', async c => {
    const session = sessionParam(c)
    const after = Number(parse(cursorSchema, c.req.query('after') ?? '0', 'after'))
    const page = await authority.store.sessions.page(c.get('principal'), session, after)
    if (!page) throw await goneError(authority.store, c.get('principal'), session)
    const last = page.events.at(-1)?.seq ?? after
    // Read before the events were: an event that committed in between may already be on this page.
    const head = Math.max(page.head, page.events.length > 0 ? last : 0)
    return c.json({events: page.events, head, more: last < head} satisfies Page)
  })
}
