import {type CaseWorld, openTestDatabase} from '../../runtime/testing.ts'
import {createSyncServer, issueToken, jwtAuth, openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {shopClaims} from '../../web-demo/shop/claims.ts'
import {shopFacts, shopTenant} from '../../web-demo/shop/facts.ts'
import {refundOperation} from '../../web-demo/shop/refund-operation.ts'
import {openShopTables} from '../../web-demo/shop/schema.ts'
import {shopTables} from '../../web-demo/shop/shop-tables.ts'

const jwt = {secret: 'a secret that only these tests know, long enough', issuer: 'evaluation', audience: 'evaluation'}

/** The shop of the demo with its real server, on one database that each case finds as new. */
export async function openEvaluationDesk() {
  const database = await openTestDatabase()
  const sql = pgliteSql(database.db)
  await openShopTables(sql)
  const store = await openPgStore(sql)
  const restore = await database.snapshot()
  const token = await issueToken({...jwt, tenant: shopTenant, subject: 'maya', roles: ['support']})
  const approver = await issueToken({...jwt, tenant: shopTenant, subject: 'theo', roles: ['approver']})
  const world = async (): Promise<CaseWorld> => {
    await restore()
    await sql.query('truncate shop.orders, shop.items, shop.refunds, shop.claims, shop.closed_operations')
    await openShopTables(sql)
    const shop = shopTables(sql)
    const facts = shopFacts(shop)
    const server = createSyncServer({
      store,
      authenticate: jwtAuth(jwt),
      facts,
      operations: {refundOrder: refundOperation(shop, facts, shopClaims(sql, store))},
    })
    await server.start()
    const before = (await shop.refunds()).length
    return {
      server,
      token,
      approver,
      effects: async () => {
        await server.idle()
        const paid = await shop.refunds()
        return paid.slice(0, paid.length - before).map(({cents, orderId}) => `${cents} for ${orderId}`)
      },
    }
  }
  return {world, close: database.close}
}
