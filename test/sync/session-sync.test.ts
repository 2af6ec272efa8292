import fc from 'fast-check'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Actor, Draft} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {SessionLog} from '../../runtime/storage/session-log.ts'
import type {ServerLink} from '../../runtime/sync/server-link.ts'
import {pullSession, syncSession} from '../../runtime/sync/session-sync.ts'
import {type LinkFaults, networkDown, openTestServer, type TestServer} from '../support/desk.ts'

type Database = Awaited<ReturnType<typeof openNodeDatabase>>
let shop: TestServer
let databases: Database[]
let stores: DeviceStore[]
beforeAll(async () => {
  shop = await openTestServer()
  databases = [await openNodeDatabase({dataDir: 'memory://'}), await openNodeDatabase({dataDir: 'memory://'})]
  stores = await Promise.all(databases.map(({db}) => openPGliteStore(db, env)))
})
afterAll(async () => {
  await shop.close()
  for (const database of databases) await database.close()
})

const person = (subject: string) => ({type: 'person', subject}) as Actor
const opened: Draft = {kind: 'session.opened', data: {agent: 'desk', policy: 'steer'}}
const message = (text: string): Draft => ({kind: 'message.posted', data: {text}})

async function openLog(id: SessionId = env.id('session'), which = 0): Promise<SessionLog> {
  const store = stores[which]!
  return await SessionLog.open({store, device: await store.device(), environment: env, projections: []}, id)
}

async function texts(log: SessionLog): Promise<unknown[]> {
  return (await log.read(500))
    .flatMap(({event}) => (event.kind === 'message.posted' ? [event.data] : []))
    .map(data => (data as {text: string}).text)
}

type Fault = 'fine' | 'lost before' | 'lost after' | 'twice' | '500' | 'cut short'
const faults: Fault[] = ['fine', 'lost before', 'lost after', 'twice', '500', 'cut short']

/** Faults in the order of the requests; when they are used up, everything works. */
function faulty(queue: Fault[]): LinkFaults {
  let now: Fault = 'fine'
  return {
    before: () => {
      now = queue.shift() ?? 'fine'
      if (now === 'lost before') networkDown()
    },
    twice: () => now === 'twice',
    after: () => (now === 'lost after' ? networkDown() : undefined),
    answer: (_method, _path, response) => {
      if (now === '500') return new Response('<h1>oops</h1>', {status: 500})
      return now === 'cut short' ? new Response('{"verdicts": [{"sta', {status: 200}) : response
    },
  }
}

const trySync = (link: ServerLink, log: SessionLog, store: DeviceStore) =>
  syncSession(link, store, log).then(
    () => true,
    () => false,
  )

describe('one device', () => {
  const broken = faults.filter(fault => fault !== 'fine')
  test.each(broken)('[SYNC-4] a push that is %s ends as a clean one when it is simply sent again', async fault => {
    const link = await shop.link('maya', {faults: faulty([fault])})
    const log = await openLog()
    await log.append(person('maya'), [opened, message('a'), message('b')])
    while (!(await trySync(link, log, stores[0]!))) expect(log.state.unanswered).toHaveLength(2)
    expect(await texts(log)).toEqual(['a', 'b'])
    expect(await stores[0]!.pending(log.id, 9)).toEqual([])
    expect((await link.pull(log.id, 0)).head).toBe(3)
    expect(log.head).toBe(3)
  })

  test('[SYNC-1] of a hundred events one is refused: 99 land, the one stays visible with its reason', async () => {
    const link = await shop.link('maya')
    const log = await openLog()
    await log.append(person('maya'), [opened, ...Array.from({length: 59}, (_, i) => message(`m${i}`))])
    await log.append(person('mallory'), [message('forged')])
    await log.append(
      person('maya'),
      Array.from({length: 39}, (_, i) => message(`n${i}`)),
    )
    await syncSession(link, stores[0]!, log)
    expect(log.head).toBe(99)
    expect(await stores[0]!.pending(log.id, 9)).toEqual([])
    expect(await stores[0]!.rejected(log.id)).toMatchObject([
      {event: {data: {text: 'forged'}}, reason: expect.stringContaining('subject of the token')},
    ])
    expect(await texts(log)).toHaveLength(99)
  })

  test('[SYNC-6] more than one batch goes in several pushes, in order', async () => {
    const pushes: string[] = []
    const link = await shop.link('maya', {faults: {before: method => void pushes.push(method)}})
    const log = await openLog()
    const large = 'x'.repeat(15_000)
    await log.append(person('maya'), [opened, ...Array.from({length: 150}, (_, i) => message(`${i} ${large}`))])
    await syncSession(link, stores[0]!, log)
    expect(log.head).toBe(151)
    expect(pushes.filter(method => method === 'POST').length).toBeGreaterThan(2)
    expect((await texts(log)).map(text => Number.parseInt(String(text), 10))).toEqual([...Array(150).keys()])
  })

  const poor: [string, Partial<ServerLink>][] = [
    ['has no verdicts', {push: async () => ({verdicts: [], head: 0})}],
    ['says that there is more and sends nothing', {pull: async () => ({events: [], head: 99, more: true})}],
    [
      'names a head that it never reaches',
      {
        push: async (_, events) => ({
          verdicts: events.map(event => ({status: 'accepted', id: event.id, seq: 50})),
          head: 60,
        }),
      },
    ],
  ]
  test.each(poor)('[SYNC-6] an answer that %s does not make the device ask for ever', async (_, change) => {
    const real = await shop.link('maya')
    let asked = 0
    const counted = <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) => {
      return (...args: Args): Promise<Answer> => {
        asked += 1
        return call(...args)
      }
    }
    const {push, pull} = {push: real.push, pull: real.pull, ...change}
    const link: ServerLink = {...real, push: counted(push), pull: counted(pull)}
    const log = await openLog()
    await log.append(person('maya'), [opened, message('a')])
    await trySync(link, log, stores[0]!)
    await pullSession(link, log).catch(() => undefined)
    expect(asked).toBeLessThan(6)
  })
})

describe('two devices', () => {
  type Act = {who: 0 | 1; act: 'post' | 'sync' | 'pull'}
  const act: fc.Arbitrary<Act> = fc.record({
    who: fc.constantFrom<0 | 1>(0, 1),
    act: fc.constantFrom<Act['act']>('post', 'post', 'sync', 'pull'),
  })

  test('[SYNC-4] any faults on any requests end in the same log on both devices and the server, nothing lost, nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(act, {maxLength: 14}),
        fc.array(fc.constantFrom(...faults), {maxLength: 14}),
        async (acts, queue) => {
          const clean = await shop.link('maya')
          const link = await shop.link('maya', {faults: faulty([...queue])})
          const first = await openLog()
          await first.append(person('maya'), [opened])
          await syncSession(clean, stores[0]!, first)
          const logs = [first, await openLog(first.id, 1)] as const
          await pullSession(clean, logs[1])
          const posted: [string[], string[]] = [[], []]
          for (const {who, act} of acts) {
            if (act === 'sync') await trySync(link, logs[who], stores[who]!)
            else if (act === 'pull') await pullSession(link, logs[who]).catch(() => undefined)
            else {
              const text = `${who}/${posted[who].length}`
              posted[who].push(text)
              await logs[who].append(person('maya'), [message(text)])
            }
          }
          for (const who of [0, 1, 0] as const) {
            await syncSession(clean, stores[who]!, logs[who])
            await pullSession(clean, logs[who])
          }
          const here = await texts(logs[0])
          expect(await texts(logs[1])).toEqual(here)
          expect(logs[0].state).toStrictEqual(logs[1].state)
          expect((await clean.pull(first.id, 0)).head).toBe(logs[0].head)
          for (const who of [0, 1] as const) {
            expect(here.filter(text => String(text).startsWith(`${who}/`))).toEqual(posted[who])
          }
        },
      ),
      {numRuns: 25},
    )
  })
})
