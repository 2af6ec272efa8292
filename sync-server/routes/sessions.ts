import {deviceIdSchema} from '../../runtime/protocol/ids.ts'
import {sessionListSchema} from '../../runtime/protocol/wire.ts'
import type {Authority} from '../authority/authority.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

/** Maximum number of sessions listed. Further sessions can be read by id. */
const listedSessions = 1000
const listedPurges = 1000

const listSessions = route({
  name: 'listSessions',
  method: 'GET',
  path: '/v1/sessions',
  summary: 'The sessions of the caller with their heads, and what the device named has to purge.',
  query: {device: deviceIdSchema.optional()},
  answers: {200: sessionListSchema},
})

export function sessionRoutes(app: App, {store, environment}: Authority): void {
  handle(app, listSessions, async ({query: {device}, principal: owner}) => {
    // From now on the device may hold copies, so an erasure must wait for its purge.
    if (device) await store.devices.seen(owner, device, environment.now())
    const erased = device ? await store.devices.toPurge(owner, device, listedPurges) : []
    const redactions = device ? await store.devices.toRedact(owner, device, listedPurges) : []
    const sessions = await store.sessions.list(owner, listedSessions)
    return {sessions, erased, ...(redactions.length > 0 && {redactions})}
  })
}
