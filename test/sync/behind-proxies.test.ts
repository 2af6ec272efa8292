import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest'
import {systemEnvironment} from '../../runtime/platform/environment.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import type {HttpLinkOptions} from '../../runtime/sync/http-link.ts'
import {promptModel} from '../../runtime/testing.ts'
import {type NodeHost, serveNode} from '../../sync-server/node.ts'
import {type Device, openDevice, until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
import {type Fault, type FaultProxy, openFaultProxy} from '../support/fault-proxy.ts'

type Database = Awaited<ReturnType<typeof openNodeDatabase>>
let shop: TestServer
let host: NodeHost
let laptop: Database
let phone: Database
let proxy: FaultProxy
const open: Device[] = []
beforeAll(async () => {
  shop = await openTestServer()
  host = await serveNode(shop.server, {port: 0, graceMs: 1})
  laptop = await openNodeDatabase({dataDir: 'memory://'})
  phone = await openNodeDatabase({dataDir: 'memory://'})
})
afterEach(async () => {
  await Promise.all(open.splice(0).map(device => device.close()))
  await proxy?.close()
})
afterAll(async () => {
  await host?.close()
  await shop.close()
  await laptop.close()
  await phone.close()
})

const model = promptModel(() => ({text: 'Noted.'}))
let people = 0

/** Through a proxy of its own with these faults. */
async function behind(faults: Fault[], subject = `person-${++people}`, options: Partial<HttpLinkOptions> = {}) {
  if (open.length === 0) proxy = await openFaultProxy(Number(new URL(host.url).port))
  for (const fault of faults) proxy.add(fault)
  const token = await shop.token(subject)
  const link = shop.linkWith(async () => token, {url: proxy.url, fetch: globalThis.fetch, ...options})
  const db = (open.length === 0 ? laptop : phone).db
  const device = await openDevice({db, shop, subject, model, link})
  open.push(device)
  return {...device, subject}
}

const isLive = ({request}: {request: string}) => request === 'GET /v1/live'
const isPush = ({request}: {request: string}) => request.startsWith('POST') && request.endsWith('/events')
const isPull = ({request}: {request: string}) => request.startsWith('GET') && request.endsWith('/events')
const atRest = (view: SessionView) => view.status === 'completed' && view.pending === 0
const texts = (view: SessionView) => view.entries.flatMap(entry => (entry.type === 'message' ? [entry.text] : []))

async function stateOf(device: Device, wanted: string): Promise<void> {
  await expect.poll(async () => (await device.service.connection()).state, {timeout: 60_000}).toBe(wanted)
}

const streams: [string, Fault, Partial<HttpLinkOptions>][] = [
  ['holds streams until they end', {buffer: true}, {deadlineMs: 2000}],
  ['lets the head of a stream pass and holds what follows', {holdAfterBytes: 100}, {silenceMs: 3000}],
  ['lets hello pass and holds what follows', {holdAfterBytes: 4300}, {silenceMs: 3000}],
  ['closes streams after a moment', {closeAfterMs: 400}, {}],
  [
    'answers for streams with a page of its own',
    {answer: {status: 200, headers: {'content-type': 'text/html'}, body: '<html>Sign in</html>'}},
    {},
  ],
]

describe('behind a proxy that', () => {
  test.each(streams)('[SYNC-8] %s, everything is pushed and pulled', async (_, fault, options) => {
    const one = await behind([{...fault, match: isLive}], undefined, options)
    const two = await openDevice({db: phone.db, shop, subject: one.subject, model, link: await shop.link(one.subject)})
    open.push(two)
    const session = await one.sessions.openSession({agent: 'desk'})
    await session.send('from the laptop')
    await until(session, atRest)
    await expect
      .poll(async () => (await two.service.sessions()).map(({id}) => id), {timeout: 60_000})
      .toContain(session.id)
    const theirs = await two.session(session.id)
    await until(theirs, view => texts(view).length === 1)
    await theirs.send('from the phone')
    expect(texts(await until(session, view => texts(view).length === 2 && view.pending === 0))).toEqual([
      'from the laptop',
      'from the phone',
    ])
  })

  test('[SYNC-5] [SYNC-8] holds streams, the connection says that it polls, and is live once the proxy lets go', async () => {
    const one = await behind([], undefined, {deadlineMs: 1000})
    await stateOf(one, 'live')
    await one.close()
    open.splice(0)
    const heal = proxy.add({match: isLive, buffer: true})
    const two = await behindSame(one.subject, {deadlineMs: 1000})
    await stateOf(two, 'polling')
    expect(await two.service.connection()).toMatchObject({detail: expect.stringContaining('checks for changes')})
    heal()
    await stateOf(two, 'live')
  })

  test('[SYNC-6] [SYNC-8] holds streams is not asked in a hot loop', async () => {
    const one = await behind([{match: isLive, buffer: true}])
    await stateOf(one, 'polling')
    const before = proxy.calls.filter(({request}) => request === 'GET /v1/sessions').length
    await expect
      .poll(() => proxy.calls.filter(({request}) => request === 'GET /v1/sessions').length, {timeout: 60_000})
      .toBeGreaterThan(before + 2)
    expect(proxy.calls.filter(isLive).length).toBeLessThan(4)
  })

  const answers: [string, Fault][] = [
    ['answers 429 with a page', {answer: {status: 429, headers: {'retry-after': '1'}, body: '<h1>Slow down</h1>'}}],
    ['answers 413 with a page', {answer: {status: 413, body: '<h1>Too large</h1>'}}],
    [
      'asks people to sign in',
      {answer: {status: 200, headers: {'content-type': 'text/html'}, body: '<html>Sign in</html>'}},
    ],
    ['answers other JSON', {answer: {status: 200, headers: {'content-type': 'application/json'}, body: '{"ok":true}'}}],
    ['cuts answers', {cutAfterBytes: 20}],
    ['drops answers after the server has acted', {dropAnswer: true}],
  ]
  test.each(answers)(
    '[SYNC-4] [SYNC-8] %s for a while, nothing is lost and nothing is there twice',
    async (_, fault) => {
      const one = await behind([
        {...fault, match: isPush, times: 3},
        {...fault, match: isPull, times: 2},
        {...fault, match: ({request}) => request === 'GET /v1/sessions', times: 2},
      ])
      const session = await one.sessions.openSession({agent: 'desk'})
      await session.send('first')
      await session.send('second')
      const view = await until(session, each => atRest(each) && texts(each).length === 2)
      expect(view.syncFault).toBeNull()
      const {events} = await (await shop.link(one.subject)).pull(session.id, 0)
      expect(events.map(({seq}) => seq)).toEqual(events.map((_, i) => i + 1))
      expect(new Set(events.map(({id}) => id)).size).toBe(events.length)
    },
  )

  test('[SYNC-4] sends everything twice and strips what it does not know, everything is there once', async () => {
    const one = await behind([
      {twice: true, match: ({request}) => request.startsWith('POST')},
      {stripAnswer: ['content-type', 'holdfast-protocol', 'cache-control']},
    ])
    const session = await one.sessions.openSession({agent: 'desk'})
    await session.send('once')
    await until(session, atRest)
    const {events} = await (await shop.link(one.subject)).pull(session.id, 0)
    expect(events.filter(({kind}) => kind === 'message.posted')).toHaveLength(1)
  })
})

async function behindSame(subject: string, options: Partial<HttpLinkOptions>): Promise<Device> {
  const token = await shop.token(subject)
  const link = shop.linkWith(async () => token, {url: proxy.url, fetch: globalThis.fetch, ...options})
  const device = await openDevice({db: phone.db, shop, subject, model, link})
  open.push(device)
  return device
}

describe('on a slow line', () => {
  test('[SYNC-8] long sessions arrive page by page, each page once, the one that is looked at first', async () => {
    const subject = `person-${++people}`
    const writer = await shop.link(subject)
    const device = await openDevice({db: phone.db, shop, subject, model, link: writer})
    const sessions = []
    for (let i = 0; i < 3; i++) {
      const session = await device.sessions.openSession({agent: 'desk'})
      for (let n = 0; n < 6; n++) {
        const noise = Array.from({length: 1500}, () => crypto.randomUUID().slice(0, 8)).join('')
        await session.send(noise)
        await until(session, atRest)
      }
      sessions.push(session)
    }
    await device.close()
    const reader = await behind([{match: isPull, bytesPerSecond: 20_000}], subject, {deadlineMs: 2000})
    const oldest = await reader.session(sessions[0]!.id)
    await until(oldest, view => texts(view).length === 6)
    for (const {id} of sessions) {
      await until(await reader.session(id), view => texts(view).length === 6)
    }
    const asked = proxy.calls.filter(isPull).map(({request, query}) => `${request}?${query.split('&')[0]}`)
    expect(asked.length).toBe(new Set(asked).size)
  })

  test('[SYNC-8] a line that breaks in the middle of a page costs that page and nothing before it', async () => {
    const subject = `person-${++people}`
    const device = await openDevice({db: phone.db, shop, subject, model, link: await shop.link(subject)})
    const session = await device.sessions.openSession({agent: 'desk'})
    for (let n = 0; n < 12; n++) {
      await session.send(Array.from({length: 1900}, () => crypto.randomUUID().slice(0, 8)).join(''))
      await until(session, atRest)
    }
    await device.close()
    const reader = await behind(
      [
        {
          match: call => isPull(call) && call.query.includes('after=') && !call.query.includes('after=0'),
          cutAfterBytes: 500,
          times: 2,
        },
      ],
      subject,
    )
    const {head} = (await (await shop.link(subject)).sessions(systemEnvironment.id('device'))).sessions.find(
      ({id}) => id === session.id,
    )!
    await until(await reader.session(session.id), view => view.head === head)
    const whole = proxy.calls.filter(isPull).map(({query}) => query.split('&')[0])
    expect(whole.filter(query => query === 'after=0')).toHaveLength(1)
  })

  test('[SYNC-8] answers are compressed for whoever asks, streams and small answers are not', async () => {
    const subject = `person-${++people}`
    const device = await openDevice({db: phone.db, shop, subject, model, link: await shop.link(subject)})
    const session = await device.sessions.openSession({agent: 'desk'})
    await session.send('word '.repeat(2000))
    await until(session, atRest)
    await device.close()
    const headers = {authorization: `Bearer ${await shop.token(subject)}`, 'accept-encoding': 'gzip'}
    const page = await shop.server.fetch(new Request(`http://x/v1/sessions/${session.id}/events`, {headers}))
    expect(page.headers.get('content-encoding')).toBe('gzip')
    expect((await page.arrayBuffer()).byteLength).toBeLessThan(3000)
    const models = await shop.server.fetch(new Request('http://x/v1/models', {headers}))
    expect([models.headers.get('content-encoding'), await models.json()]).toEqual([null, {models: []}])
    const live = await shop.server.fetch(new Request('http://x/v1/live', {headers}))
    expect(live.headers.get('content-encoding')).toBeNull()
    expect(live.headers.get('cache-control')).toContain('no-transform')
    await live.body?.cancel()
  })
})
