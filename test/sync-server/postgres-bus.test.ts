import {afterEach, beforeAll, describe, expect, test} from 'vitest'
import type {LogLine} from '../../runtime/protocol/log-line.ts'
import type {LiveMessage} from '../../runtime/protocol/wire.ts'
import type {Poke} from '../../sync-server/bus.ts'
import {BusOutbox, payloadBytes, readBusMessage} from '../../sync-server/bus-outbox.ts'
import {BusPeers} from '../../sync-server/bus-peers.ts'
import {openPgStore, type Store, type SyncServer} from '../../sync-server/index.ts'
import {openPostgresBus, type PostgresBus, type PostgresBusOptions} from '../../sync-server/postgres.ts'
import {realPostgres} from '../support/real-postgres.ts'
import {headersOf, type Who} from './support/caller.ts'
import {deskServers, logOf} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'
import {readStream} from './support/read-stream.ts'

const postgres = realPostgres()
const stores: Store[] = []
beforeAll(async () => {
  stores.push(await openPgStore(postgres().sql))
})
const servers = deskServers({
  get sql() {
    return postgres().sql
  },
  get store() {
    return stores[0]!
  },
})

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

let channels = 0
/** Processes on one database, each with its own bus; they differ in nothing else. */
async function processes(count: number, options: Partial<PostgresBusOptions> = {}) {
  const channel = `bus-${++channels}`
  return Promise.all(
    Array.from({length: count}, async () => {
      const bus = await openPostgresBus({url: postgres().url, channel, ...options})
      const server = servers.server({bus, sharesDatabase: true})
      ends.push(async () => {
        await server.close()
        await bus.close()
      })
      return {bus, server, channel}
    }),
  )
}

async function listen(server: SyncServer, who: Who) {
  const stream = readStream(await server.app.request('/v1/live', {headers: headersOf(who)}))
  expect(await stream.next<LiveMessage>()).toEqual({type: 'hello'})
  return () => stream.next<LiveMessage>()
}

function heard(bus: PostgresBus): Poke[] {
  const pokes: Poke[] = []
  ends.push(async () => stop())
  const stop = bus.subscribe(poke => pokes.push(poke))
  return pokes
}

const cutAll = () =>
  postgres().sql.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast-bus'`)
const notify = (channel: string, message: unknown) =>
  postgres().sql.query('SELECT pg_notify($1, $2)', [channel, JSON.stringify(message)])
const fact = (key: string): Poke => ({type: 'fact', tenant: 'shop' as never, key})

describe('a bus between processes on one Postgres', () => {
  test('[SYNC-3] a live stream in one process hears what was appended in another, and only its own', async () => {
    const [one, other] = await processes(2)
    const who: Who = {tenant: 'bus-a', subject: 'ana'}
    const mine = await listen(other!.server, who)
    const strangers = await listen(other!.server, {tenant: 'bus-b', subject: 'ana'})
    const device = testDevice(who)
    await device.push(one!.server, [device.open(), device.post('one')])
    expect(await mine()).toEqual({type: 'head', session: device.session, head: 2})
    await other!.server.close()
    expect(await strangers()).toBeNull()
  })

  test('[SYNC-3] with its connection gone, a process says so, comes back and has everything looked at', async () => {
    const lines: LogLine[] = []
    const [one, other] = await processes(2, {log: line => void lines.push(line)})
    const who: Who = {tenant: 'bus-c', subject: 'ana'}
    const next = await listen(other!.server, who)
    const device = testDevice(who)
    await cutAll()
    await device.push(one!.server, [device.open()])
    // Whichever comes first: the poke waited for the connection, and the stream is told to look at everything.
    const seen: LiveMessage[] = []
    while (!seen.some(({type}) => type === 'hello')) seen.push((await next())!)
    expect(await logOf(other!.server, who, device.session)).toHaveLength(1)
    await expect.poll(() => lines.filter(({event}) => event === 'bus.restored').length).toBe(2)
    await device.push(one!.server, [device.post('two')])
    while (!seen.some(message => message.type === 'head' && message.head === 2)) seen.push((await next())!)
    expect(lines.filter(({event}) => event === 'bus.lost')).toHaveLength(2)
    expect(JSON.stringify(lines)).not.toContain('loopback-only')
  })

  test('[SYNC-3] a process that falls silent without a good-bye may have died before it told: all is looked at', async () => {
    const [one] = await processes(1, {heartbeatMs: 30})
    const pokes = heard(one!.bus)
    await notify(one!.channel, {from: 'killed', pokes: [fact('a')]})
    await expect.poll(() => pokes).toEqual([fact('a'), {type: 'missed'}])
  })

  test('[SYNC-6] thousands of pokes in one turn arrive, none of them twice at home, in payloads that Postgres takes', async () => {
    const [one, other] = await processes(2)
    const [home, away] = [heard(one!.bus), heard(other!.bus)]
    const all = Array.from({length: 3000}, (_, i) => fact(`order/${'ä'.repeat(40)}/${i}`))
    for (const poke of all) one!.bus.publish(poke)
    await expect.poll(() => away.length).toBe(all.length)
    expect(away).toEqual(all)
    expect(home).toEqual(all)
  })

  test('[SYNC-4] what is no message of ours passes by', async () => {
    const [one] = await processes(1)
    const pokes = heard(one!.bus)
    for (const message of ['x', 7, {from: 'x', pokes: [{type: 'gift'}]}, {pokes: []}])
      await notify(one!.channel, message)
    await notify(one!.channel, {from: 'another', pokes: [fact('last')]})
    await expect.poll(() => pokes).toEqual([fact('last')])
  })

  test('an address where nobody answers is a misconfiguration, said without the password', async () => {
    const opening = openPostgresBus({url: 'postgres://holdfast:secret-word@127.0.0.1:1/none'})
    await expect(opening).rejects.toMatchObject({code: 'misconfigured'})
    await expect(opening).rejects.not.toThrow(/secret-word/)
  })
})

describe('who else is there', () => {
  test('[SYNC-3] only who falls silent without a good-bye has died, once', () => {
    const peers = new BusPeers(30)
    expect(peers.hear('a', 0)).toBe(true)
    expect(peers.hear('b', 0)).toBe(true)
    peers.leave('b')
    expect(peers.anybodyDied(10)).toBe(false)
    expect(peers.hear('a', 20)).toBe(false)
    expect([25, 40, 50].map(now => peers.anybodyDied(now))).toEqual([false, false, false])
    expect([51, 60].map(now => peers.anybodyDied(now))).toEqual([true, false])
    expect(peers.hear('a', 70)).toBe(true)
  })

  test('[SYNC-3] a process that has slept itself believes nobody dead for it, and still finds out later', () => {
    const peers = new BusPeers(30)
    peers.hear('a', 0)
    expect([10, 5000, 5010, 5020, 5030].map(now => peers.anybodyDied(now))).toEqual([false, false, false, false, false])
    expect(peers.anybodyDied(5040)).toBe(true)
  })
})

describe('what waits to be sent', () => {
  test('[SYNC-6] a later poke about a place stands for an earlier one, and too many for one that says: look', () => {
    const outbox = new BusOutbox('me')
    const head = (n: number): Poke => ({
      type: 'head',
      tenant: 'shop' as never,
      subject: 'ana' as never,
      session: 'ses_018f0000-0000-7000-8000-000000000000' as never,
      head: n,
    })
    for (const n of [1, 2, 3]) outbox.add(head(n))
    const payload = outbox.take()
    expect(readBusMessage(payload)?.pokes).toEqual([head(3)])
    outbox.add(head(4))
    outbox.putBack(payload)
    expect(readBusMessage(outbox.take())?.pokes).toEqual([head(4)])
    for (let i = 0; i < 20_000; i++) outbox.add(fact(String(i)))
    expect(readBusMessage(outbox.take())?.pokes).toEqual([{type: 'missed'}])
    expect(outbox.empty).toBe(true)
  })

  test('[SYNC-3] a poke that no payload holds becomes one that says: look', () => {
    const outbox = new BusOutbox('me')
    outbox.add(fact('x'.repeat(payloadBytes)))
    outbox.add(fact('y'))
    expect(readBusMessage(outbox.take())?.pokes).toEqual([{type: 'missed'}])
    expect(readBusMessage(outbox.take())?.pokes).toEqual([fact('y')])
  })
})
