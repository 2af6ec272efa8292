import {Hono} from 'hono'
import {createSyncServer, jwtAuth, type LogLine, openPgStore} from '../../sync-server/index.ts'
import {serveNode} from '../../sync-server/node.ts'
import {shopClaims} from '../shop/claims.ts'
import {shopFacts} from '../shop/facts.ts'
import {refundOperation} from '../shop/refund-operation.ts'
import {refundReasons} from '../shop/refund-reasons.ts'
import {openShopTables} from '../shop/schema.ts'
import {shopTables} from '../shop/shop-tables.ts'
import {demoRoutes, tokenIssue} from './demo-routes.ts'
import {demoSecret} from './demo-secret.ts'
import {gatewayModels, type ModelSettings} from './gateway-models.ts'
import {memoryPolicy} from './memory-policy.ts'
import {openDatabase} from './open-database.ts'
import {securityHeaders} from './security-headers.ts'
import {staticFiles} from './static-files.ts'

export type ShopOptions = {
  /** A folder, or `memory://` for a shop that ends with the process. */
  dataDir: string
  /** The URL of a Postgres for the records. Default: PGlite in `dataDir`. */
  databaseUrl?: string
  /** The name of a damaged database that may be set aside for an empty one; the refusal to start says it. */
  beginAnew?: string
  /** Called when the database in `dataDir` has stopped by itself. Default: it is opened again. */
  onStopped?: (error: unknown) => void
  model: ModelSettings | null
  /** Where people open the desk, besides this machine's own names; others get no demo token. */
  origins?: readonly string[]
  /** Milliseconds after which no file of the database, its log or its backups holds an erased row. Default: not stated. */
  filesGoneAfterMs?: number
  /** When the operator began to remove erased rows from all files (ms since 1970). Receipts that waited for it are completed. */
  filesRewrittenAt?: number
  log?: (line: LogLine) => void
}

export type DemoOptions = ShopOptions & {
  /** The built page. */
  pageDir: string
  /** Assets of earlier builds, for tabs that are still open. */
  earlierDir?: string
  port: number
  host?: string
}

/** The shop and its sync server over one database, as one app without the page; `close` ends the database last. */
export async function openShop(options: ShopOptions) {
  const {dataDir, databaseUrl, beginAnew, onStopped, model, origins, filesGoneAfterMs, filesRewrittenAt, log} = options
  const database = await openDatabase({dataDir, databaseUrl, beginAnew, onStopped, log})
  try {
    await openShopTables(database.sql)
    const shop = shopTables(database.sql)
    const facts = shopFacts(shop)
    const secret = await demoSecret(dataDir)
    const store = await openPgStore(database.sql)
    const sync = createSyncServer({
      store,
      authenticate: jwtAuth({secret, ...tokenIssue}),
      facts,
      operations: {refundOrder: refundOperation(shop, facts, shopClaims(database.sql, store))},
      layers: [refundReasons(database.sql)],
      memory: {policy: memoryPolicy},
      models: await gatewayModels(model),
      ...(filesGoneAfterMs !== undefined && {erasure: {filesGoneAfterMs}}),
      // On a Postgres there may be other processes of this desk; a folder has one.
      sharesDatabase: databaseUrl !== undefined,
      ...(database.bus && {bus: database.bus}),
      ...(log && {log}),
    })
    if (filesRewrittenAt !== undefined) await sync.filesRewritten(filesRewrittenAt)
    const app = new Hono()
    app.use(securityHeaders())
    app.route('/demo', demoRoutes(secret, shop, origins))
    app.all('/v1/*', c => sync.fetch(c.req.raw))
    app.get('/healthz', c => sync.fetch(c.req.raw))
    app.get('/readyz', c => sync.fetch(c.req.raw))
    return {app, sync, closeDatabase: database.close}
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Opens the shop and its desk on one port over one database; `close` ends both in the right order. */
export async function openDemo(options: DemoOptions): Promise<{url: string; close(): Promise<void>}> {
  const {app, sync, closeDatabase} = await openShop(options)
  try {
    app.get('*', staticFiles(options.pageDir, options.earlierDir))
    const {port, host = '127.0.0.1'} = options
    const node = await serveNode({...sync, fetch: request => app.fetch(request)}, {port, host})
    return {url: node.url, close: () => node.close().finally(closeDatabase)}
  } catch (error) {
    await sync.close()
    await closeDatabase()
    throw error
  }
}
