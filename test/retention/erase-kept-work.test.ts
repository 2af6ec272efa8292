import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {Session} from '../../runtime/page/page-runtime.ts'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {Envelope} from '../../runtime/protocol/event.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {protocolHeader, type SessionList} from '../../runtime/protocol/wire.ts'
import {serverEnvironment as env} from '../../sync-server/index.ts'
import {until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
import {tablesWith} from '../support/scan-database.ts'
import {type Desk, openDesk} from '../support/two-devices.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {deskServers} from '../sync-server/support/desk-server.ts'
import {type TestDevice, testDevice} from '../sync-server/support/device.ts'

const day = 86_400_000

describe('on the server', () => {
  const database = testDatabase()
  const servers = deskServers(database)
  let people = 0
  const newPerson = (): Who => ({tenant: 'acme', subject: `keeper-${++people}`})

  /** A branch of `source` that begins with a copy of one of its messages, as keeping work apart writes it. */
  async function keptFrom(source: TestDevice, words: string, original = env.id('event')) {
    const branch = testDevice(source.who)
    const from = {session: source.session, seq: 1}
    // Spread at once, so that they are counted in this order.
    const opening: Envelope = {...branch.event('session.forked', {agent: 'desk', policy: 'steer', from})}
    const copy: Envelope = {...branch.event('message.posted', {text: words}), causes: [original]}
    await branch.push(servers.server(), [opening, copy])
    return branch
  }

  async function opened(words: string) {
    const source = testDevice(newPerson())
    const said = source.post(words)
    await source.push(servers.server(), [source.open(), said])
    return {source, said}
  }

  const statusOf = async ({who, session}: TestDevice) =>
    (await call(servers.server(), who, `/v1/sessions/${session}/events`)).status

  const erase = async ({who, session}: TestDevice, more: object = {}) =>
    (await call<ErasureReceipt>(servers.server(), who, '/v1/erasures', {session, ...more})).body

  test('[RET-2] [CUS-4] work kept as a branch goes with its source, the branch of a branch too, and the receipt counts it', async () => {
    const words = 'said-once-and-kept-twice'
    const {source, said} = await opened(words)
    const kept = await keptFrom(source, words, said.id)
    const again = await keptFrom(kept, words)
    const receipt = await erase(source)
    expect(receipt.layers).toContainEqual({name: 'work kept as a branch', removed: 2, kept: null})
    expect(receipt.layers).toContainEqual({name: 'branches', removed: 0, kept: null})
    expect([await statusOf(kept), await statusOf(again)]).toEqual([410, 410])
    expect(await tablesWith(database.db, words)).toEqual([])
    const late = kept.event('message.posted', {text: words})
    expect(
      (await call(servers.server(), kept.who, `/v1/sessions/${kept.session}/events`, {events: [late]})).status,
    ).toBe(410)
  })

  test('[RET-3] every device is told to purge the kept branch by its name', async () => {
    const {source} = await opened('to be purged by name')
    const kept = await keptFrom(source, 'to be purged by name')
    const path = `/v1/sessions?device=${env.id('device')}`
    await call<SessionList>(servers.server(), source.who, path)
    await erase(source)
    const {body} = await call<SessionList>(servers.server(), source.who, path)
    expect(body.erased).toMatchObject([{sessions: [source.session, kept.session]}])
  })

  test('[RET-2] a branch with words of its own stays, even if a tool of it has put out something named causes', async () => {
    const {source} = await opened('only in the source')
    const branch = testDevice(source.who)
    const from = {session: source.session, seq: 1}
    const refund = branch.refund({orderId: 'A17', cents: 100, why: {causes: [env.id('event')]}})
    await branch.push(servers.server(), [
      branch.event('session.forked', {agent: 'desk', policy: 'steer', from}),
      ...refund.events,
    ])
    const receipt = await erase(source)
    expect(receipt.layers).toContainEqual({name: 'work kept as a branch', removed: 0, kept: null})
    expect(await statusOf(branch)).toBe(200)
  })

  test('[RET-1] a time that is over does not take the kept branch in which somebody goes on', async () => {
    const {source} = await opened('rested long enough')
    const resting = await keptFrom(source, 'rests too')
    servers.environment.advance(20 * day)
    const busy = await keptFrom(source, 'goes on')
    servers.environment.advance(20 * day)
    await servers.server({retention: {transcripts: {days: 30}}}).sweep()
    expect([await statusOf(source), await statusOf(resting), await statusOf(busy)]).toEqual([410, 410, 200])
  })
})

describe('on the device that kept it', () => {
  let shop: TestServer
  beforeAll(async () => {
    shop = await openTestServer()
  })
  afterAll(() => shop.close())

  const secret = 'what was only ever said apart'
  const isGone = (view: SessionView) => view.erased !== null

  /** One device has answered offline while custody moved on; the person has yet to choose. */
  async function apart(subject: string): Promise<Desk> {
    const a = await openDesk(shop, subject, [{text: 'Hello.'}, {text: secret}, {text: 'In the branch.'}])
    await a.session.send('Hello?')
    await until(a.session, view => view.status === 'completed' && view.pending === 0)
    await a.online(false)
    await a.session.send(secret)
    await until(a.session, view => view.settled && view.status === 'completed')
    const b = await openDesk(shop, subject, [{text: 'Hello from the other one.'}], a)
    await b.session.takeOver()
    await a.online(true)
    await until(a.session, view => view.divergence !== null)
    await until(b.session, view => view.pending === 0 && view.status === 'completed')
    await b.runtime.close()
    return a
  }

  async function erase(subject: string, {id}: Session): Promise<void> {
    const response = await shop.server.app.request('/v1/erasures', {
      method: 'POST',
      headers: {authorization: `Bearer ${await shop.token(subject)}`, [protocolHeader]: '1'},
      body: JSON.stringify({session: id}),
    })
    expect(response.status).toBe(200)
  }

  test('[RET-2] [CUS-4] a branch that the server has goes with its source', async () => {
    const a = await apart('kim')
    const branch = await a.session.resolveDivergence('keep')
    await until(branch, view => view.status === 'completed' && view.pending === 0)
    await erase('kim', a.session)
    await until(a.session, isGone)
    await until(branch, isGone)
    expect(await tablesWith(shop.db, secret)).toEqual([])
    await a.runtime.close()
  })

  test('[RET-2] [RET-3] a branch that never left the device goes too, and cannot be pushed afterwards', async () => {
    const a = await apart('lou')
    await a.online(false)
    const branch = await a.session.resolveDivergence('keep')
    await until(branch, view => view.settled && view.status === 'completed')
    await erase('lou', a.session)
    await a.online(true)
    const gone = await until(branch, isGone)
    expect(gone.entries).toHaveLength(1)
    await expect(branch.send('and on')).rejects.toMatchObject({code: 'erased'})
    expect(await tablesWith(shop.db, secret)).toEqual([])
    await a.runtime.close()
  })
})
