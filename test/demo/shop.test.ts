import {PGlite} from '@electric-sql/pglite'
import {beforeAll, describe, expect, test} from 'vitest'
import {type FactContext, type FactSource, pgliteSql, type Sql} from '../../sync-server/index.ts'
import {shopFacts} from '../../web-demo/shop/facts.ts'
import {openShopTables} from '../../web-demo/shop/schema.ts'
import {type ShopTables, shopTables} from '../../web-demo/shop/shop-tables.ts'
import {realPostgres} from '../support/real-postgres.ts'

let sql: Sql
let shop: ShopTables
const refund = (orderId: string, cents: number) => ({orderId, cents, reason: 'Arrived broken'})

beforeAll(async () => {
  const db = await PGlite.create()
  sql = pgliteSql(db)
  await openShopTables(sql)
  shop = shopTables(sql)
  return () => db.close()
})

describe('the shop', () => {
  test('is filled once, and what happened since survives another start', async () => {
    await shop.pay('op-start', refund('A18', 100))
    await openShopTables(sql)
    expect(await shop.orders()).toHaveLength(13)
    expect((await shop.order('A18'))?.order.refundedCents).toBe(100)
  })

  test('[OP-3] the same operation delivered twice pays once and gets the first receipt', async () => {
    const first = await shop.pay('op-twice', refund('A17', 1000))
    expect(await shop.pay('op-twice', refund('A17', 1000))).toEqual(first)
    expect((await shop.order('A17'))?.order).toMatchObject({refundedCents: 1000, refundableCents: 3600})
  })

  test('two refunds at the same moment cannot take more than the order holds', async () => {
    const both = await Promise.all([
      shop.pay('op-race-1', refund('D07', 2000)),
      shop.pay('op-race-2', refund('D07', 2000)),
    ])
    expect(both.filter(payment => 'paid' in payment)).toHaveLength(1)
    expect((await shop.order('D07'))?.order.refundableCents).toBe(1200)
  })

  test('[OP-4] an operation that was found not to have paid can never pay later', async () => {
    expect(await shop.receiptOrClose('op-lost')).toBeNull()
    expect(await shop.pay('op-lost', refund('B23', 500))).toHaveProperty('refused')
    expect((await shop.order('B23'))?.order.refundedCents).toBe(0)
  })

  test('[OP-4] an operation that did pay is found with its receipt', async () => {
    const {paid} = {paid: null, ...(await shop.pay('op-found', refund('B23', 700)))}
    expect(paid).toMatchObject({orderId: 'B23', cents: 700})
    expect(await shop.receiptOrClose('op-found')).toEqual(paid)
  })

  test('an unknown order is refused by name', async () => {
    expect(await shop.pay('op-unknown', refund('Z99', 100))).toEqual({refused: 'There is no order Z99.'})
  })
})

describe('the shop on Postgres', () => {
  const postgres = realPostgres()

  test('servers that start together fill it once, and refunds at the same moment wait for each other', async () => {
    await Promise.all([openShopTables(postgres().sql), openShopTables(postgres().sql)])
    const shops = shopTables(postgres().sql)
    expect(await shops.orders()).toHaveLength(13)
    const names = Array.from({length: 8}, (_, index) => `op-pg-${index}`)
    const payments = await Promise.all(names.map(name => shops.pay(name, refund('D07', 2000))))
    expect(payments.filter(payment => 'paid' in payment)).toHaveLength(1)
    const [settled, paid] = await Promise.all([
      shops.receiptOrClose('op-both'),
      shops.pay('op-both', refund('B23', 500)),
    ])
    expect('paid' in paid).toBe(settled !== null)
  })
})

describe('the facts of the shop', () => {
  const maya = {tenant: 'fernweh', subject: 'maya'} as FactContext
  let facts: FactSource
  beforeAll(() => {
    facts = shopFacts(shop)
  })

  test.for(['customer-orders/lena-brandt', 'customer-orders/lena', 'customer-orders/lena.brandt@example.net'])(
    '%s are the two orders of Lena',
    async key => {
      const fact = await facts.read(key, maya)
      expect(fact?.value).toMatchObject([{id: 'A17'}, {id: 'A21'}])
    },
  )

  test.for(['order/Z99', 'customer-orders/nobody', 'secrets/all', 'order/', 'nonsense'])('%s is no fact', async key => {
    expect(await facts.read(key, maya)).toBeNull()
  })

  test('[FACT-1] the version of an order and of its list moves with a refund', async () => {
    const before = [await facts.read('order/C09', maya), await facts.read('customer-orders/mei-tanaka', maya)]
    await shop.pay('op-version', refund('C09', 100))
    const after = [await facts.read('order/C09', maya), await facts.read('customer-orders/mei-tanaka', maya)]
    expect(after.map(fact => fact?.version)).not.toContainEqual(before[0]?.version)
    expect(after[1]?.version).not.toBe(before[1]?.version)
  })

  test('[RET-5] another tenant sees no order', async () => {
    expect(await facts.read('order/A17', {...maya, tenant: 'other'} as FactContext)).toBeNull()
  })
})
