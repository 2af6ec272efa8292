import {parse} from '../../runtime/protocol/errors.ts'
import {deviceIdSchema} from '../../runtime/protocol/ids.ts'
import type {SessionList} from '../../runtime/protocol/wire.ts'
import type {Authority} from '../authority/authority.ts'
import type {App} from './http.ts'

/** More sessions than this are found by their id only. */
const listedSessions = 1000
const listedPurges = 1000

export function sessionRoutes(app: App, {store, environment}: Authority): void {
  app.get('/v1/sessions', async c => {
    const owner = c.get('principal')
    const named = c.req.query('device')
    const device = named === undefined ? null : parse(deviceIdSchema, named, 'device')
    // From here on it may hold copies, so from here on it is waited for.
    if (device) await store.devices.seen(owner, device, environment.now())
    const erased = device ? await store.devices.toPurge(owner, device, listedPurges) : []
    const sessions = await store.sessions.list(owner, listedSessions)
    return c.json({sessions, erased} satisfies SessionList)
  })
}
