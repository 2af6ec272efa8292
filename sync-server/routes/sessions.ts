import type * as z from 'zod'
import type {sessionListSchema} from '../../runtime/protocol/wire.ts'
import type {Store} from '../storage/store.ts'
import type {App} from './http.ts'

/** More sessions than this are found by their id only. */
const listedSessions = 1000

export function sessionRoutes(app: App, store: Store): void {
  app.get('/v1/sessions', async c => {
    const sessions = await store.sessions.list(c.get('principal'), listedSessions)
    return c.json({sessions} satisfies z.infer<typeof sessionListSchema>)
  })
}
