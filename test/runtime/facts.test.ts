import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest'
import {factReader} from '../../runtime/device/fact-reader.ts'
import {systemEnvironment} from '../../runtime/platform/environment.ts'
import {custodianKinds, personKinds, serverKinds} from '../../runtime/protocol/event.ts'
import type {FactReading} from '../../runtime/protocol/fact.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import type {CuttableLink} from '../../runtime/sync/http-link.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import type {FactChange, FactSource} from '../../sync-server/index.ts'
import {until} from '../support/crashable-device.ts'
import {deskScenes, ofKind} from '../support/desk-scenes.ts'

/** Orders of one tenant; a key under `mine/` belongs to its subject. */
function orderFacts() {
  const orders = new Map<string, {cents: number; version: number}>()
  const listeners = new Set<(change: FactChange) => void>()
  const asked: string[][] = []
  const of = (key: string, subject: string) => {
    if (key.startsWith('mine/')) return key === `mine/${subject}` ? {value: {cents: 0}, version: '1'} : null
    const order = orders.get(key)
    return order ? {value: {cents: order.cents}, version: String(order.version)} : null
  }
  const source: FactSource = {
    read: async (key, {subject}) => of(key, subject),
    readMany: async (keys, {subject}) => {
      asked.push([...keys])
      return keys.map(key => of(key, subject))
    },
    version: async (key, {subject}) => of(key, subject)?.version ?? null,
    changes: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const set = (key: string, cents: number | null) => {
    if (cents === null) orders.delete(key)
    else orders.set(key, {cents, version: (orders.get(key)?.version ?? 0) + 1})
    for (const listener of listeners) listener({tenant: 'shop' as never, key})
  }
  return {source, set, asked}
}

const orders = orderFacts()
const scenes = deskScenes({facts: orders.source})
const database = await openNodeDatabase({dataDir: 'memory://'})
let store: DeviceStore
let link: CuttableLink
beforeAll(async () => {
  store = await openPGliteStore(database.db, systemEnvironment)
  link = await scenes.shop.link('maya')
})
beforeEach(async () => {
  await database.db.query('delete from holdfast_facts')
  orders.asked.length = 0
  link.setOnline(true)
  orders.set('order/A17', 8900)
  orders.set('order/B22', 3200)
})
afterAll(() => database.close())

const reader = (now = () => 0) => factReader({store, link, environment: {...systemEnvironment, now}})
const told = (readings: (FactReading | null)[]) =>
  readings.map(reading => reading && [(reading.value as {cents: number}).cents, reading.source, reading.ageMs])

describe('facts on a device', () => {
  test('[FACT-2] several are read in one way, in their order, and are copies with an age once it is offline', async () => {
    let now = 1000
    const facts = reader(() => now)
    const keys = ['order/B22', 'order/none', 'order/A17']
    expect(told(await facts.readMany(keys))).toEqual([[3200, 'server', 0], null, [8900, 'server', 0]])
    link.setOnline(false)
    now = 61_000
    const copies = ['order/A17', 'order/B22']
    expect(told(await facts.readMany(copies))).toEqual([
      [8900, 'replica', 60_000],
      [3200, 'replica', 60_000],
    ])
    await expect(facts.readMany(keys)).rejects.toMatchObject({
      code: 'offline',
      message: expect.stringContaining('none'),
    })
    expect(await facts.readMany([])).toEqual([])
  })

  test('[FACT-2] what is as this device knows it is not sent again, and is as good as new', async () => {
    let now = 0
    const facts = reader(() => now)
    await facts.readMany(['order/A17', 'order/B22'])
    orders.set('order/B22', 100)
    orders.asked.length = 0
    now = 5000
    expect(told(await facts.readMany(['order/A17', 'order/B22']))).toEqual([
      [8900, 'server', 0],
      [100, 'server', 0],
    ])
    expect(orders.asked).toEqual([['order/B22']])
    link.setOnline(false)
    now = 6000
    expect(told([await facts.read('order/A17')])).toEqual([[8900, 'replica', 1000]])
  })

  test('[FACT-2] a copy does not outlive its fact', async () => {
    const facts = reader()
    await facts.readMany(['order/A17', 'order/B22'])
    orders.set('order/A17', null)
    orders.set('order/B22', null)
    expect([await facts.read('order/A17'), ...(await facts.readMany(['order/B22']))]).toEqual([null, null])
    link.setOnline(false)
    await expect(facts.read('order/A17')).rejects.toMatchObject({code: 'offline'})
    await expect(facts.read('order/B22')).rejects.toMatchObject({code: 'offline'})
  })

  test('[FACT-2] a change reaches the devices that hold a copy, also one that was cut off when it was told', async () => {
    const scene = await scenes.play(scriptedModel([]))
    const own = await openPGliteStore(scenes.db, systemEnvironment)
    const copy = async (key: string) => ((await own.fact(key))?.value as {cents: number} | undefined)?.cents
    const bearer = await scenes.shop.link(scene.subject)
    await own.saveFact((await bearer.fact('order/A17'))!, 0)
    await own.saveFact((await bearer.fact('order/B22'))!, 0)
    orders.set('order/A17', 1)
    await expect.poll(() => copy('order/A17')).toBe(1)
    await scene.device.service.setOnline(false)
    orders.set('order/B22', 2)
    orders.set('order/C33', 3)
    await scene.device.service.setOnline(true)
    await expect.poll(() => copy('order/B22')).toBe(2)
    expect(await copy('order/C33')).toBeUndefined()
    await scene.device.close()
  })
})

test('[RET-3] a copy that is erased while it is being refreshed does not come back', async () => {
  const facts = reader()
  await facts.readMany(['order/A17', 'order/B22'])
  const erasing = {
    ...link,
    facts: async (request: Parameters<CuttableLink['facts']>[0]) => {
      const answers = await link.facts(request)
      await store.transaction(unit => unit.eraseFacts())
      return answers
    },
  }
  const late = factReader({store, link: erasing, environment: systemEnvironment})
  orders.set('order/A17', 1)
  await late.refresh('order/A17')
  expect(await store.factKeys()).toEqual([])
  await facts.readMany(['order/A17', 'order/B22'])
  await late.refreshAll()
  expect(await store.factKeys()).toEqual([])
})

describe('the route of several facts', () => {
  test('[ID-4] [FACT-1] answers for whoever asks: what belongs to another is missing like what does not exist', async () => {
    const other = await scenes.shop.link('ben')
    const keys = ['mine/ben', 'mine/maya', 'mine/nobody']
    const missing = (key: string) => ({key, missing: true})
    expect(await other.facts({keys})).toEqual([
      {key: 'mine/ben', value: {cents: 0}, version: '1'},
      missing('mine/maya'),
      missing('mine/nobody'),
    ])
    expect(await other.facts({keys: ['mine/maya'], known: {'mine/maya': '1'}})).toEqual([missing('mine/maya')])
  })

  test.each<[string, unknown, string]>([
    ['no keys', {keys: []}, 'keys'],
    ['too many keys', {keys: Array.from({length: 101}, (_, i) => `order/${i}`)}, 'keys'],
    ['a value to write', {keys: ['order/A17'], value: 1}, 'body'],
    ['an empty key', {keys: ['']}, 'keys.0'],
  ])('[FACT-1] refuses %s by name', async (_, request, field) => {
    await expect(link.facts(request as never)).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining(field),
    })
  })
})

describe('nothing on a device can write a fact', () => {
  test('[FACT-1] no event is about one, and no route takes one', async () => {
    const kinds = Object.keys({...personKinds, ...custodianKinds, ...serverKinds})
    expect(kinds.filter(kind => kind.startsWith('fact'))).toEqual([])
    const authorization = `Bearer ${await scenes.shop.token('maya')}`
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
      const request = new Request('http://desk.test/v1/facts/order/A17', {
        method,
        headers: {authorization},
        ...(method !== 'DELETE' && {body: JSON.stringify({value: {cents: 1}, version: '9'})}),
      })
      expect([method, (await scenes.shop.server.fetch(request)).status]).toEqual([method, 405])
    }
    expect((await link.fact('order/A17'))?.value).toEqual({cents: 8900})
  })

  test('[FACT-1] [OP-5] a copy that was tampered with moves nothing: what rests on it is refused as stale', async () => {
    const model = scriptedModel([
      {calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}]},
      {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 100}}]},
      {text: 'That did not work.'},
    ])
    const scene = await scenes.play(model)
    const paid = scenes.shop.payments.length
    await scene.device.service.setOnline(false)
    await scenes.db.query(
      `insert into holdfast_facts (key, value, version, fetched_at) values ('order/A17', '{"cents":1}', '999', 0)
       on conflict (key) do update set value = excluded.value, version = excluded.version`,
    )
    await scene.session.send('Refund it.')
    await until(scene.session, view => view.status === 'waiting_for_tool')
    await scene.device.service.setOnline(true)
    await until(scene.session, view => view.status === 'completed' && view.pending === 0)
    const log = await scenes.log(scene)
    expect(ofKind(log, 'operation.proposed')[0]?.data.basis).toEqual({'order/A17': '999'})
    expect(ofKind(log, 'operation.refused')[0]?.data.code).toBe('stale')
    expect(scenes.shop.payments).toHaveLength(paid)
    expect((await link.fact('order/A17'))?.value).toEqual({cents: 8900})
    await scene.device.close()
  })
})
