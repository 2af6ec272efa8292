import {createSyncServer} from '../../../sync-server/index.ts'
import {routesOf} from '../../../sync-server/routes/route.ts'
import {trustingAuth} from './caller.ts'
import {askingsOf} from './document-requests.ts'

/** What a server says of itself does not depend on what it stores, so it is known before any database is open. */
const bare = createSyncServer({
  store: {sessions: {}, ledger: {}, approvals: {}, health: {}} as never,
  authenticate: trustingAuth,
  metrics: {authorise: () => true},
})
export const declared = {
  app: bare.app,
  routes: routesOf(bare.app),
  document: bare.openApiDocument(),
  askings: askingsOf(bare.openApiDocument()),
}
