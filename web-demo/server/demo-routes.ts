import {Hono} from 'hono'
import {issueToken} from '../../sync-server/index.ts'
import {isPerson, people} from '../people.ts'
import {shopTenant} from '../shop/facts.ts'
import type {Shop} from '../shop/order.ts'
import type {ShopTables} from '../shop/shop-tables.ts'
import {knownHost} from './known-host.ts'

export const tokenIssue = {issuer: 'fernweh-demo', audience: 'fernweh-desk'} as const
const tokenSeconds = 600

/**
 * What only a demo has. `/demo/token` hands anybody a token of any of its people: a real application puts its own login
 * there. `/demo/shop` shows the tables to anybody, so that what was paid can be seen.
 */
export function demoRoutes(secret: string, shop: ShopTables, origins: readonly string[] = []): Hono {
  const app = new Hono()
  app.use(knownHost(origins))
  app.use(async (c, next) => {
    await next()
    c.header('cache-control', 'no-store')
  })
  app.get('/token', async c => {
    const subject = c.req.query('as') ?? ''
    if (!isPerson(subject)) {
      return c.json({error: {code: 'bad_input', message: `as: expected ${Object.keys(people).join(' or ')}`}}, 400)
    }
    const expiresAt = Date.now() + tokenSeconds * 1000
    const token = await issueToken({
      secret,
      ...tokenIssue,
      tenant: shopTenant,
      subject,
      roles: [...people[subject].roles],
      expiresInSeconds: tokenSeconds,
    })
    return c.json({token, expiresAt})
  })
  app.get('/shop', async c => {
    const tables: Shop = {orders: await shop.orders(), refunds: await shop.refunds()}
    return c.json(tables)
  })
  return app
}
