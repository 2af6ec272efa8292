import {PGlite} from '@electric-sql/pglite'
import {beforeAll, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {OperationId, SessionId} from '../../runtime/protocol/ids.ts'
import {createSyncServer, openPgStore, pgliteSql, type SyncServer} from '../../sync-server/index.ts'
import {shopClaims} from '../../web-demo/shop/claims.ts'
import {shopFacts, shopTenant} from '../../web-demo/shop/facts.ts'
import {refundOperation} from '../../web-demo/shop/refund-operation.ts'
import {refundReasons} from '../../web-demo/shop/refund-reasons.ts'
import {openShopTables} from '../../web-demo/shop/schema.ts'
import {shopTables} from '../../web-demo/shop/shop-tables.ts'
import {refundOrder} from '../../web-demo/tools.ts'
import {call, trustingAuth, type Who} from '../sync-server/support/caller.ts'
import {decide, inbox} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'

let shopServer: SyncServer
let db: PGlite
let ledgerStatus: (operation: OperationId) => Promise<string | undefined>
const theo: Who = {tenant: shopTenant, subject: 'theo', roles: ['approver']}

beforeAll(async () => {
  db = await PGlite.create()
  const sql = pgliteSql(db)
  await openShopTables(sql)
  const store = await openPgStore(sql)
  const shop = shopTables(sql)
  const facts = shopFacts(shop)
  shopServer = createSyncServer({
    store,
    authenticate: trustingAuth,
    facts,
    operations: {refundOrder: refundOperation(shop, facts, shopClaims(sql, store))},
    layers: [refundReasons(sql)],
  })
  ledgerStatus = async operation => (await store.ledger.operation({tenant: shopTenant as never, operation}))?.status
  return () => db.close()
})

type Asked = {orderId: string; cents: number; reason?: string}

/** Proposes one refund in a session of its own. */
async function propose(subject: string, {reason = 'Broken', ...asked}: Asked) {
  const device = testDevice({tenant: shopTenant, subject})
  const version = refundOrder.version
  const refund = device.refund({...asked, reason}, {version})
  await device.push(shopServer, [device.open(), ...refund.events])
  return {session: device.session, operation: refund.operation}
}

async function refundEach(subject: string, all: Asked[]) {
  const operations: {session: SessionId; operation: OperationId}[] = []
  for (const asked of all) {
    operations.push(await propose(subject, asked))
    await shopServer.idle()
  }
  return Promise.all(operations.map(({operation}) => ledgerStatus(operation)))
}

test('refunds of one order are added up, so that four small ones are not a large one without approval', async () => {
  const four = Array.from({length: 4}, () => ({orderId: 'B22', cents: 4_900}))
  expect(await refundEach('maya', four)).toEqual([
    'executed',
    'awaiting_approval',
    'awaiting_approval',
    'awaiting_approval',
  ])
})

test('refunds of one person on several orders are added up over the day', async () => {
  const four = ['E05', 'C09', 'D11', 'B31'].map(orderId => ({orderId, cents: 4_900}))
  expect(await refundEach('nora', four)).toEqual(['executed', 'executed', 'awaiting_approval', 'awaiting_approval'])
})

test('of refunds that are proposed at the same moment only as much goes through as of those one after the other', async () => {
  const both = await Promise.all([
    propose('ole', {orderId: 'D02', cents: 3_000}),
    propose('ole', {orderId: 'D02', cents: 3_000}),
  ])
  await shopServer.idle()
  const statuses = await Promise.all(both.map(({operation}) => ledgerStatus(operation)))
  expect(statuses.toSorted()).toEqual(['awaiting_approval', 'executed'])
})

test('what a person rejected is not counted', async () => {
  const first = await propose('pia', {orderId: 'A17', cents: 4_600})
  await shopServer.idle()
  expect(await ledgerStatus(first.operation)).toBe('executed')
  const large = await propose('pia', {orderId: 'B23', cents: 5_500})
  await shopServer.idle()
  const item = (await inbox(shopServer, theo)).find(({operation}) => operation === large.operation)
  await decide(shopServer, theo, item!.approval, {verdict: 'reject', digest: item!.digest})
  expect(await refundEach('pia', [{orderId: 'B23', cents: 4_000}])).toEqual(['executed'])
})

test('small refunds after a large one of the same order count towards the two people who decide', async () => {
  await refundEach('quin', [{orderId: 'E05', cents: 29_000}])
  const {operation} = await propose('quin', {orderId: 'E05', cents: 4_000})
  await shopServer.idle()
  const item = (await inbox(shopServer, theo)).find(one => one.operation === operation)
  expect(item).toMatchObject({approvers: 2})
})

test.for(['session', 'subject'] as const)('[RET-2] erasing a %s takes the reasons of its refunds', async what => {
  const subject = `rosa-${what}`
  const words = `Knabenkraut-${what}`
  const {session} = await propose(subject, {orderId: 'D07', cents: 100, reason: words})
  await shopServer.idle()
  const reasons = async () => (await db.query<{reason: string}>('select reason from shop.refunds')).rows
  expect(await reasons()).toContainEqual({reason: words})
  const who: Who = {tenant: shopTenant, subject}
  const target = what === 'session' ? {session} : {subject}
  const {body} = await call<ErasureReceipt>(shopServer, who, '/v1/erasures', target)
  expect(body.layers).toContainEqual({
    name: 'refund reasons',
    removed: 1,
    kept: 'order, amount and time of each refund',
  })
  expect(JSON.stringify(await reasons())).not.toContain(words)
})

test.for(['session', 'subject'] as const)(
  '[RET-2] erasing a %s takes reasons of refunds without a claim',
  async what => {
    const subject = `ruth-${what}`
    const words = `Händelwurz-${what}`
    const {session, operation} = await propose(subject, {orderId: 'D07', cents: 100, reason: words})
    await shopServer.idle()
    // Earlier builds of the shop paid without a claim.
    await db.query('delete from shop.claims where operation = $1', [operation])
    const who: Who = {tenant: shopTenant, subject}
    await call<ErasureReceipt>(shopServer, who, '/v1/erasures', what === 'session' ? {session} : {subject})
    const {rows} = await db.query<{reason: string}>('select reason from shop.refunds')
    expect(JSON.stringify(rows)).not.toContain(words)
  },
)
