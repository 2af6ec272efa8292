import fc from 'fast-check'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {systemEnvironment} from '../../runtime/platform/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {promptModel} from '../../runtime/testing.ts'
import {type Device, openDevice, until} from '../support/crashable-device.ts'
import {type LinkFaults, networkDown, openTestServer, type TestServer} from '../support/desk.ts'

const someDevice = systemEnvironment.id('device')

type Database = Awaited<ReturnType<typeof openNodeDatabase>>
let shop: TestServer
let laptop: Database
let phone: Database
beforeAll(async () => {
  shop = await openTestServer()
  laptop = await openNodeDatabase({dataDir: 'memory://'})
  phone = await openNodeDatabase({dataDir: 'memory://'})
})
afterAll(async () => {
  await shop.close()
  await laptop.close()
  await phone.close()
})

const model = promptModel(() => ({text: 'Noted.'}))
let people = 0

/** A device of a person of its own, so that scenes share one database without meeting. */
async function device(faults: LinkFaults = {}, options: {database?: Database; subject?: string} = {}) {
  const {database = laptop, subject = `person-${++people}`} = options
  return {subject, ...(await openDevice({db: database.db, shop, subject, model, faults}))}
}

const atRest = (view: SessionView) => view.status === 'completed' && view.pending === 0
const isPush = (method: string, path: string) => method === 'POST' && path.endsWith('/events')

function texts(view: SessionView): string[] {
  return view.entries.flatMap(entry => (entry.type === 'message' ? [entry.text] : []))
}

/** Live streams that a test can break, or make deaf to what the server pokes about. */
function breakable(): LinkFaults & {breakAll(): void; deaf: boolean} {
  const streams = new Set<TransformStreamDefaultController>()
  const gate: ReturnType<typeof breakable> = {
    deaf: false,
    breakAll: () => {
      for (const stream of streams) stream.error(new TypeError('terminated'))
      streams.clear()
    },
    answer: (_method, path, response) => {
      if (path !== '/v1/live' || !response.body) return response
      const through = new TransformStream<Uint8Array, Uint8Array>({
        start: controller => void streams.add(controller),
        transform: (chunk, controller) => {
          if (!gate.deaf || !new TextDecoder().decode(chunk).includes('"head"')) controller.enqueue(chunk)
        },
      })
      return new Response(response.body.pipeThrough(through), response)
    },
  }
  return gate
}

function held(): {promise: Promise<void>; resolve(): void} {
  let resolve = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return {promise, resolve}
}

async function seenBy(other: Device, id: string): Promise<void> {
  await new Promise<void>(resolve => {
    other.sessions.subscribeSessions(list => list.some(item => item.id === id) && resolve())
  })
}

test('[SYNC-6] after one 500 an idle device drains by itself', async () => {
  let broken = 1
  const one = await device({
    answer: (method, path, response) =>
      isPush(method, path) && broken-- > 0 ? new Response('bad gateway', {status: 502}) : response,
  })
  const session = await one.sessions.openSession({agent: 'desk'})
  await session.send('hello')
  const view = await until(session, atRest)
  expect(view.entries.map(({durability}) => durability.status)).toEqual(['server', 'server'])
  expect(broken).toBeLessThan(1)
  await one.close()
})

test('[SYNC-6] forty messages typed while the server answers 500 make no storm of requests, and all land once', async () => {
  let broken = false
  let pushes = 0
  const one = await device({
    answer: (method, path, response) => {
      if (isPush(method, path)) pushes += 1
      return broken && isPush(method, path) ? new Response('oops', {status: 500}) : response
    },
  })
  const session = await one.sessions.openSession({agent: 'desk'})
  await until(session, ({pending, head}) => pending === 0 && head > 0)
  let asked = 0
  broken = true
  pushes = 0
  const said = Array.from({length: 40}, (_, i) => `message ${i}`)
  for (const text of said) {
    await session.send(text)
    asked = Math.max(asked, pushes)
  }
  expect(asked).toBeLessThan(10)
  broken = false
  const view = await until(session, atRest)
  expect(texts(view)).toEqual(said)
  expect(new Set(view.entries.map(({id}) => id)).size).toBeGreaterThanOrEqual(41)
  await one.close()
})

test('[SYNC-4] a token that runs out while the stream is open is replaced, and nothing waits for ever', async () => {
  const subject = `person-${++people}`
  const gate = breakable()
  const good = await shop.token(subject)
  let token = good
  let refused = 0
  const onTokenRefused = () => {
    refused += 1
  }
  const link = shop.linkWith(async () => token, {faults: gate, onTokenRefused})
  const one = await openDevice({
    db: laptop.db,
    shop,
    subject,
    model,
    link,
    setToken: value => {
      token = value ?? ''
    },
  })
  const session = await one.sessions.openSession({agent: 'desk'})
  await session.send('before')
  await until(session, atRest)
  token = `${good.slice(0, -2)}xx`
  gate.breakAll()
  await new Promise<void>(resolve => {
    one.sessions.subscribeConnection(({state}) => state === 'unauthenticated' && resolve())
  })
  await session.send('in between')
  const waiting = await until(session, ({status, pending}) => status === 'completed' && pending > 0)
  expect(waiting.rejected).toBe(0)
  expect(refused).toBeGreaterThan(0)
  await one.service.setToken(good)
  expect(texts(await until(session, atRest))).toEqual(['before', 'in between'])
  await one.close()
})

test('[SYNC-3] a server that goes away and comes back finds everything that was written meanwhile', async () => {
  const gate = breakable()
  let gone = false
  const one = await device({...gate, before: () => (gone ? networkDown() : undefined)})
  const session = await one.sessions.openSession({agent: 'desk'})
  await until(session, ({pending}) => pending === 0)
  gone = true
  gate.breakAll()
  await session.send('while it was away')
  const offline = await until(session, ({status}) => status === 'completed')
  expect(offline.entries.every(({durability}) => durability.status === 'device')).toBe(true)
  gone = false
  const view = await until(session, atRest)
  expect(view.entries.every(({durability}) => durability.status === 'server')).toBe(true)
  await one.close()
})

test('[SYNC-5] what is written with the connection cut stays here, in order, and lands once when it is joined again', async () => {
  const requests: string[] = []
  const one = await device({before: (method, path) => void requests.push(`${method} ${path}`)})
  const session = await one.sessions.openSession({agent: 'desk'})
  await until(session, ({pending}) => pending === 0)
  await one.service.setOnline(false)
  requests.length = 0
  for (const text of ['a', 'b', 'c']) await session.send(text)
  const cut = await until(session, ({status, pending}) => status === 'completed' && pending > 0)
  expect(requests).toEqual([])
  expect(await one.service.connection()).toMatchObject({state: 'cut'})
  await one.service.setOnline(true)
  const view = await until(session, atRest)
  expect(texts(view)).toEqual(['a', 'b', 'c'])
  expect(view.entries.map(({id}) => id)).toEqual(cut.entries.map(({id}) => id))
  const {events} = await (await shop.link(one.subject)).pull(session.id, 0)
  expect(events.map(({seq}) => seq)).toEqual(events.map((_, i) => i + 1))
  await one.close()
})

test('[SYNC-3] two devices of one person end with the same transcript, and a lost poke only costs time', async () => {
  const gate = breakable()
  const one = await device()
  const two = await device(gate, {database: phone, subject: one.subject})
  const session = await one.sessions.openSession({agent: 'desk'})
  await session.send('from the laptop')
  await until(session, atRest)
  await seenBy(two, session.id)
  const theirs = await two.session(session.id)
  await until(theirs, view => view.entries.length === 2)
  gate.deaf = true
  await session.send('unheard')
  const heard = await until(session, view => atRest(view) && view.entries.length === 4)
  await theirs.send('from the phone')
  const both = [await until(session, view => atRest(view) && view.entries.length === 6)]
  gate.breakAll()
  both.push(await until(theirs, view => view.head === both[0]!.head))
  expect(both[1]!.entries).toEqual(both[0]!.entries)
  expect(texts(both[0]!)).toEqual(['from the laptop', 'unheard', 'from the phone'])
  expect(both[0]!.entries.slice(0, 4)).toEqual(heard.entries)
  expect([both[0]!.custody, both[1]!.custody]).toEqual(['here', 'elsewhere'])
  await Promise.all([one.close(), two.close()])
})

test('[CUS-5] a token that nobody ever brings holds a request no longer than its deadline', async () => {
  const link = shop.linkWith(() => new Promise(() => undefined), {deadlineMs: 20})
  await expect(link.sessions(someDevice)).rejects.toMatchObject({code: 'deadline'})
  const stop = new AbortController()
  await expect(link.live(() => undefined, stop.signal)).rejects.toSatisfy(error => HoldfastError.is(error, 'deadline'))
})

test('[SYNC-6] a push that is refused for good is shown with its reason and not sent for ever; a new connection tries again', async () => {
  let pushes = 0
  let refusing = true
  const error = {code: 'forbidden', message: 'This session is closed to you.'}
  const desk = await device({
    instead: (method, path) => {
      if (!isPush(method, path)) return null
      pushes += 1
      return refusing ? Response.json({error}, {status: 403}) : null
    },
  })
  const session = await desk.sessions.openSession({agent: 'desk'})
  const shown = await until(session, view => view.syncFault !== null)
  expect(shown).toMatchObject({syncFault: 'This session is closed to you.', head: 0})
  const before = pushes
  await session.send('Hello?')
  await until(session, view => view.status === 'completed')
  expect(pushes).toBe(before)
  refusing = false
  await desk.sessions.setOnline(false)
  await desk.sessions.setOnline(true)
  const level = await until(session, view => view.pending === 0 && view.syncFault === null)
  expect(level.head).toBeGreaterThan(1)
  await desk.close()
})

test('[SYNC-6] what was queued before a push was refused for good, and the stream that begins after it, push nothing more', async () => {
  const refusal = {error: {code: 'forbidden', message: 'This session is closed to you.'}}
  let refused = ''
  let pushes = 0
  let asked = 0
  const [answer, stream] = [held(), held()]
  const desk = await device({
    before: (_, path) => (path === '/v1/live' ? stream.promise : undefined),
    instead: async (method, path) => {
      if (!isPush(method, path) || !path.includes(refused)) return null
      pushes += 1
      await answer.promise
      return Response.json(refusal, {status: 403})
    },
    after: (method, path) => {
      if (method === 'GET' && path === '/v1/sessions') asked += 1
    },
  })
  const session = await desk.sessions.openSession({agent: 'desk'})
  refused = session.id
  await expect.poll(() => pushes).toBe(1)
  await session.send('Queued while the push is under way')
  answer.resolve()
  await until(session, view => view.syncFault !== null)
  const roundsBefore = asked
  stream.resolve()
  await expect.poll(() => asked).toBeGreaterThan(roundsBefore)
  // A turn of another session that was written later comes after all that was queued.
  const other = await desk.sessions.openSession({agent: 'desk'})
  await other.send('Hello?')
  await until(other, atRest)
  expect(pushes).toBe(1)
  await desk.close()
})

test('[SYNC-6] a head that the server names of a refused session is pulled and pushes nothing; taken after all, the fault goes', async () => {
  const error = {code: 'forbidden', message: 'This session is closed to you.'}
  let pushes = 0
  const desk = await device({
    // The server takes it and the way back says otherwise, so the server names a head afterwards.
    answer: (method, path, response) => {
      if (!isPush(method, path)) return response
      pushes += 1
      return Response.json({error}, {status: 403})
    },
  })
  const session = await desk.sessions.openSession({agent: 'desk'})
  const level = await until(session, view => view.pending === 0 && view.head > 0 && view.syncFault === null)
  expect(level.rejected).toBe(0)
  expect(pushes).toBe(1)
  await desk.close()
})

test('[SYNC-5] a server that fails at one session again and again is shown with its reason, and no more once it takes it', async () => {
  let failing = true
  const error = {code: 'internal', message: 'Something failed here.'}
  const desk = await device({
    answer: (method, path, response) =>
      failing && isPush(method, path) ? Response.json({error}, {status: 500}) : response,
  })
  const session = await desk.sessions.openSession({agent: 'desk'})
  const shown = await until(session, view => view.syncFault !== null)
  expect(shown.syncFault).toBe('Something failed here. It will be retried.')
  failing = false
  const level = await until(session, view => view.pending === 0 && view.syncFault === null)
  expect(level.head).toBeGreaterThan(0)
  await desk.close()
})

type Signal = 'join' | 'cut' | 'hurry' | 'break' | 'say' | 'poke'

test('[SYNC-3] [SYNC-6] switched on while on, off while off, hurried and broken in any order, a device ends level with the server', async () => {
  const signals = fc.array(fc.constantFrom<Signal>('join', 'join', 'cut', 'hurry', 'break', 'say', 'poke'), {
    minLength: 2,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(signals, async order => {
      const gate = breakable()
      const one = await device(gate)
      const session = await one.sessions.openSession({agent: 'desk'})
      const said: string[] = []
      const act: Record<Signal, () => unknown> = {
        join: () => one.service.setOnline(true),
        cut: () => one.service.setOnline(false),
        hurry: () => one.service.hurry(),
        break: () => gate.breakAll(),
        say: async () => {
          said.push(`message ${said.length}`)
          await session.send(said.at(-1) ?? '')
        },
        poke: async () => {
          await (await shop.link(one.subject)).sessions(someDevice)
        },
      }
      for (const signal of order) await act[signal]()
      await one.service.setOnline(true)
      await act.say()
      const view = await until(session, each => atRest(each) && texts(each).length === said.length)
      expect(texts(view)).toEqual(said)
      const {events} = await (await shop.link(one.subject)).pull(session.id, 0)
      expect(events.filter(({kind}) => kind === 'message.posted')).toHaveLength(said.length)
      await one.close()
    }),
    {numRuns: 10},
  )
})

test('[SYNC-6] switching on what is on changes nothing: the stream that stands goes on', async () => {
  let streams = 0
  const one = await device({
    before: (_method, path) => {
      if (path === '/v1/live') streams += 1
    },
  })
  await expect.poll(async () => (await one.service.connection()).state).toBe('live')
  await one.service.setOnline(true)
  expect(await one.service.connection()).toMatchObject({state: 'live'})
  const session = await one.sessions.openSession({agent: 'desk'})
  await session.send('still here')
  await until(session, atRest)
  expect(streams).toBe(1)
  await one.close()
})
