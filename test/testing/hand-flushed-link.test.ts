import {afterAll, beforeAll, expect, test} from 'vitest'
import {
  CrashPoints,
  fakeEnvironment,
  handFlushed,
  openTestDatabase,
  openTestDevice,
  promptModel,
  type TestDatabase,
} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'
import {desk, deskTools, openTestServer, type TestServer} from '../support/desk.ts'

let shop: TestServer
let database: TestDatabase
beforeAll(async () => {
  shop = await openTestServer()
  database = await openTestDatabase()
})
afterAll(async () => {
  await shop.close()
  await database.close()
})

test('[SYNC-4] [SYNC-6] the first push of a session, lost, then doubled with its answer lost, is sent again and ends as if nothing had happened', {
  timeout: 200_000,
}, async () => {
  const link = handFlushed(await shop.link('maya'))
  const environment = fakeEnvironment({seed: 'laptop'})
  const device = await openTestDevice({
    db: database.db,
    process: new CrashPoints().process('laptop'),
    hosts: [{agent: desk, model: promptModel(() => ({text: 'Yes.'})), tools: deskTools} as never],
    environment,
    link,
    subject: 'maya',
  })
  const wait = (type: string, call: string) => link.next(parcel => parcel.type === type && parcel.call === call)
  const page = device.page(fakeEnvironment({seed: 'page'}))
  await (await wait('request', 'live')).deliver()
  await (await wait('poke', 'hello')).deliver()
  await (await wait('request', 'sessions')).deliver()
  await (await wait('answer', 'sessions')).deliver()
  const session = await page.openSession({agent: 'desk'})
  const lost = await wait('request', 'push')
  await session.send('Is anybody there?')
  await until(session, view => view.status === 'completed')
  lost.drop()

  // The server takes this one twice, and the device hears of neither.
  const doubled = await wait('request', 'push')
  expect(doubled.content).toMatchObject([session.id, expect.any(Array)])
  await doubled.duplicate()
  const answer = await wait('answer', 'push')
  answer.drop()
  await expect(answer.deliver()).rejects.toMatchObject({code: 'refused'})
  const head = (await (await shop.link('maya')).pull(session.id, 0)).head
  expect(head).toBeGreaterThan(0)
  link.flow()
  const view = await until(session, each => each.pending === 0)
  expect(view.entries.map(({type}) => type)).toEqual(['message', 'reply'])
  const log = (await (await shop.link('maya')).pull(session.id, 0)).events
  expect(new Set(log.map(event => event.id)).size).toBe(log.length)
  expect(log.map(event => event.seq)).toEqual(log.map((_, i) => i + 1))
  await device.close()
})
