import {sessionIdSchema} from '../../runtime/protocol/ids.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {pageSchema, pushAnswerSchema, pushSchema} from '../../runtime/protocol/wire.ts'
import {admitEvents} from '../authority/admit-events.ts'
import type {Authority} from '../authority/authority.ts'
import type {DueWorker} from '../authority/due-worker.ts'
import {goneError} from '../authority/erase.ts'
import {isOfNewerBuild} from '../authority/screen-event.ts'
import {type App, isOfNewerDevice, newerDevice} from './http.ts'
import {digits, handle, route} from './route.ts'

const pushEvents = route({
  name: 'pushEvents',
  method: 'POST',
  path: '/v1/sessions/:session/events',
  summary: 'Takes a batch of events and gives each its own verdict; the same batch again changes nothing.',
  params: {session: sessionIdSchema},
  body: pushSchema,
  answers: {200: pushAnswerSchema},
  errors: ['not_found', 'erased'],
})

const pullEvents = route({
  name: 'pullEvents',
  method: 'GET',
  path: '/v1/sessions/:session/events',
  summary: 'A page of confirmed events, oldest first, after a sequence number.',
  params: {session: sessionIdSchema},
  query: {
    after: digits('a sequence number').default('0').transform(Number),
    /** Maximum bytes of a page. A page contains at least one event even if it is larger. */
    bytes: digits('a number of bytes', 9).default(String(limits.bodyBytes)).transform(Number),
  },
  answers: {200: pageSchema},
  errors: ['not_found', 'erased'],
})

export function eventRoutes(app: App, authority: Authority, worker: DueWorker): void {
  handle(app, pushEvents, async ({params: {session}, body: {events}, principal}, c) => {
    // A verdict is final and would refuse what the person wrote. Refusing the request keeps the events on the device.
    if (isOfNewerDevice(c) && events.some(isOfNewerBuild)) throw newerDevice()
    const {verdicts, head, proposed} = await admitEvents(authority, principal, session, events)
    for (const key of proposed) worker.nudge({tenant: principal.tenant, name: 'operation', key})
    return {verdicts, head}
  })

  handle(app, pullEvents, async ({params: {session}, query: {after, bytes}, principal}) => {
    const page = await authority.store.sessions.page(principal, session, after, undefined, bytes)
    if (!page) throw await goneError(authority.store, principal, session)
    const last = page.events.at(-1)?.seq ?? after
    // `head` was read before the events, so an event that committed in between may already be on this page.
    const head = Math.max(page.head, page.events.length > 0 ? last : 0)
    return {events: page.events, head, more: last < head}
  })
}
