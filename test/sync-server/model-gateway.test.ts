import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest'
import type {ModelCallName} from '../../runtime/protocol/model-call.ts'
import {modelCallKey} from '../../runtime/protocol/model-call.ts'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import {createSyncServer, type Store, type SyncServer, type SyncServerOptions} from '../../sync-server/index.ts'
import {serveNode} from '../../sync-server/node.ts'
import {type CountingProvider, openCountingProvider, words} from '../support/counting-provider.ts'
import {headersOf, trustingAuth, type Who} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {testDevice} from './support/device.ts'
import {movableClock} from './support/environment.ts'
import {readStream} from './support/read-stream.ts'

type Part = {type: string; delta?: string; error?: {reason: string; retryable: boolean; retryAfterMs?: number}}

const database = testDatabase()
const servers: SyncServer[] = []
let provider: CountingProvider
beforeAll(async () => {
  provider = await openCountingProvider()
})
beforeEach(() => {
  provider.calls.length = 0
  provider.hold(-1)
})
afterEach(async () => {
  await Promise.all(servers.splice(0).map(server => server.close()))
})
afterAll(() => provider.close())

let people = 0
const somebody = (): Who => ({tenant: `gateway-${++people}`, subject: 'ana'})
const nameOf = (over: Partial<ModelCallName> = {}): ModelCallName => ({
  session: env.id('session'),
  run: env.id('run'),
  step: env.id('step'),
  attempt: 1,
  try: 1,
  ...over,
})
const prompt = [{role: 'user', content: [{type: 'text', text: 'Where is my order?'}]}]

function server(options: Partial<SyncServerOptions> = {}): SyncServer {
  const made = underContract(
    createSyncServer({
      store: database.store,
      authenticate: trustingAuth,
      facts: {read: async () => null},
      operations: {},
      models: {desk: provider.model},
      ...options,
    }),
  )
  servers.push(made)
  return made
}

const post = (served: SyncServer, who: Who, call: ModelCallName | undefined, body: object = {prompt}) =>
  served.app.request('/v1/models/desk/stream', {
    method: 'POST',
    headers: headersOf(who),
    body: JSON.stringify({...body, ...(call && {call})}),
  })
const resume = (served: SyncServer, who: Who, call: ModelCallName, after = 0) =>
  served.app.request(`/v1/models/streams/${modelCallKey(call)}?after=${after}`, {headers: headersOf(who)})
const all = async (response: Response | Promise<Response>) => readStream(await response).rest<Part>()
const textOf = (parts: Part[]) => parts.flatMap(part => (part.type === 'text-delta' ? [part.delta] : [])).join('')
const whole = words.join('')

describe('a model call under a key', () => {
  test('[CUS-5] asked for again, after its end, is read again from the start and paid once', async () => {
    const [who, call] = [somebody(), nameOf()]
    const first = await all(post(server(), who, call))
    expect(textOf(first)).toBe(whole)
    expect(await all(post(server(), who, call))).toEqual(first)
    expect(await all(resume(server(), who, call, 3))).toEqual(first.slice(3))
    expect(provider.calls).toHaveLength(1)
    expect(provider.charged()).toBe(words.length)
  })

  test('[CUS-5] [SYNC-4] a connection cut at any part goes on at its offset, and nothing is paid twice', async () => {
    const host = await serveNode(server(), {port: 0})
    const who = somebody()
    const parts = (await all(post(servers.at(-1)!, who, nameOf()))).length
    provider.calls.length = 0
    for (let cut = 0; cut <= parts; cut++) {
      const call = nameOf()
      const gate = provider.hold(Math.min(cut, words.length - 1))
      const leaving = new AbortController()
      const response = await fetch(`${host.url}/v1/models/desk/stream`, {
        method: 'POST',
        headers: headersOf(who),
        body: JSON.stringify({prompt, call}),
        signal: leaving.signal,
      })
      const reader = readStream(response)
      const before: Part[] = []
      // What is held upstream cannot be read yet: from there on, the rest of the cuts fall after the end.
      if (cut > 2) gate.open()
      for (let n = 0; n < Math.min(cut, parts); n++) before.push((await reader.next<Part>())!)
      leaving.abort()
      gate.open()
      const after = await fetch(`${host.url}/v1/models/streams/${modelCallKey(call)}?after=${before.length}`, {
        headers: headersOf(who),
      })
      expect(textOf([...before, ...(await all(after))])).toBe(whole)
    }
    expect(provider.calls.map(call => call.ended)).toEqual(Array.from({length: parts + 1}, () => 'finished'))
    await host.close()
  })

  test('[CUS-5] two processes that race on one key both read it, and one of them asks', async () => {
    const who = somebody()
    for (let round = 1; round <= 5; round++) {
      const call = nameOf()
      const [a, b] = await Promise.all([all(post(server(), who, call)), all(post(server(), who, call))])
      expect(a).toEqual(b)
      expect(textOf(a)).toBe(whole)
      expect(provider.calls).toHaveLength(round)
    }
  })

  test('[SYNC-4] a server that dies in the middle leaves a lost call: told, counted, and another try is another call', async () => {
    const [who, call] = [somebody(), nameOf()]
    const environment = movableClock()
    let dead = false
    const dying = server({store: until(database.store, () => dead), environment, onFault: () => {}})
    const gate = provider.hold(3)
    const reader = readStream(await post(dying, who, call))
    let heard = ''
    while (heard !== 'The order is ') heard += (await reader.next<Part>())?.delta ?? ''
    const survivor = server({environment})
    await expect.poll(async () => textOf(await kept(who, call))).toBe(heard)
    dead = true
    environment.advance(16_000)
    const parts = await all(post(survivor, who, call))
    expect(textOf(parts)).toBe(heard)
    expect(parts.at(-1)).toMatchObject({type: 'error', error: {reason: 'lost', retryable: true}})
    gate.open()
    expect(textOf(await all(post(survivor, who, {...call, try: 2})))).toBe(whole)
    expect(provider.calls).toHaveLength(2)
    const rows = await database.store.modelCalls.ofRun(who as never, call.run)
    expect(rows.map(row => [row.status, row.spent.outputTokens, row.spent.estimated])).toEqual([
      ['lost', expect.any(Number), true],
      ['done', words.length, false],
    ])
    expect(rows[0]?.spent.outputTokens).toBeGreaterThanOrEqual(3)
  })

  test('[SYNC-4] a server that is stopped ends its generations with a part that says so', async () => {
    const [who, call] = [somebody(), nameOf()]
    const gate = provider.hold(2)
    const stopped = server()
    const reader = readStream(await post(stopped, who, call))
    while (!(await reader.next<Part>())?.delta);
    await stopped.close()
    expect((await reader.rest<Part>()).at(-1)).toMatchObject({error: {reason: 'lost', retryable: true}})
    expect((await all(resume(server(), who, call))).at(-1)).toMatchObject({error: {reason: 'lost'}})
    gate.open()
  })

  test("[ID-4] is nobody else's: a stranger finds nothing under it, and asking makes a call of their own", async () => {
    const [who, call] = [somebody(), nameOf()]
    await all(post(server(), who, call, {prompt: [{role: 'user', content: [{type: 'text', text: 'My secret.'}]}]}))
    for (const stranger of [
      {...who, subject: 'eve'},
      {...who, tenant: 'elsewhere'},
    ]) {
      expect((await resume(server(), stranger, call)).status).toBe(404)
      const calls = provider.calls.length
      expect((await all(post(server(), stranger, call))).length).toBeGreaterThan(0)
      expect(provider.calls).toHaveLength(calls + 1)
    }
    expect(await all(resume(server(), who, call))).toHaveLength((await kept(who, call)).length)
  })

  test('[LOG-3] for another request is refused, and nothing is asked', async () => {
    const [who, call] = [somebody(), nameOf()]
    await all(post(server(), who, call))
    const other = await post(server(), who, call, {prompt, temperature: 1})
    expect([other.status, (await other.json()).error.code]).toEqual([409, 'conflict'])
    expect(provider.calls).toHaveLength(1)
  })

  test.each([
    ['key', '/v1/models/streams/run_1.stp_2.1.1'],
    ['offset', `/v1/models/streams/${modelCallKey(nameOf())}?after=-1`],
  ])('a bad %s is refused by name', async (_, path) => {
    expect((await server().app.request(path, {headers: headersOf(somebody())})).status).toBe(400)
  })
})

describe('a generation that nobody reads', () => {
  /** Begins a call that is held upstream and leaves it. */
  async function left(served: SyncServer, who: Who, call: ModelCallName) {
    const gate = provider.hold(2)
    const reader = readStream(await post(served, who, call))
    await gate.reached(1)
    await reader.cancel()
    return gate
  }

  test('[CUS-5] goes on within the grace, and is there for the reader that comes back', async () => {
    const [who, call] = [somebody(), nameOf()]
    const gate = await left(server(), who, call)
    gate.open()
    await expect.poll(() => provider.calls[0]?.ended).toBe('finished')
    expect(textOf(await all(post(server(), who, call)))).toBe(whole)
    expect(provider.calls).toHaveLength(1)
  })

  test('[BUD-1] is ended upstream after the grace, and counted for what came', async () => {
    const [who, call] = [somebody(), nameOf()]
    const gate = await left(server({limits: {models: {graceMs: 1}}}), who, call)
    await expect.poll(() => provider.calls[0]?.ended).toBe('aborted')
    expect((await all(resume(server(), who, call))).at(-1)).toMatchObject({error: {reason: 'aborted'}})
    const [row] = await database.store.modelCalls.ofRun(who as never, call.run)
    expect(row).toMatchObject({status: 'aborted', spent: {estimated: true}})
    expect(row?.spent.outputTokens).toBeGreaterThan(0)
    gate.open()
  })

  test('[CUS-5] is not ended while a reader of another process follows it', async () => {
    const [who, call] = [somebody(), nameOf()]
    const limits = {models: {graceMs: 1000, leaseMs: 6000, pollMs: 20}}
    const gate = await left(server({limits}), who, call)
    const reading = all(resume(server({limits}), who, call))
    for (let beats = 0; beats < 3; beats++) await new Promise(resolve => setTimeout(resolve, 1000))
    expect(provider.calls[0]?.ended).toBe('open')
    gate.open()
    expect(textOf(await reading)).toBe(whole)
  })

  test('[RUN-7] is ended at once when its run is cancelled, by whichever device', async () => {
    const who = somebody()
    const device = testDevice(who)
    const served = server()
    const {run, step, events} = device.refund({orderId: 'A17', cents: 1})
    await device.push(served, [device.open(), device.post('Hi'), ...events.slice(0, 2)])
    const gate = await left(served, who, nameOf({session: device.session, run, step}))
    await device.push(served, [device.event('run.cancelled', {}, {run})])
    await expect.poll(() => provider.calls[0]?.ended).toBe('aborted')
    gate.open()
  })

  test('[RUN-3] goes on while somebody reads, although its run was cancelled, and ends when they leave', async () => {
    const who = somebody()
    const device = testDevice(who)
    const served = server()
    const {run, step, events} = device.refund({orderId: 'A17', cents: 1})
    await device.push(served, [device.open(), device.post('Hi'), ...events.slice(0, 2)])
    const gate = provider.hold(2)
    const reader = readStream(await post(served, who, nameOf({session: device.session, run, step})))
    await gate.reached(1)
    await device.push(served, [device.event('run.cancelled', {}, {run})])
    expect(provider.calls[0]?.ended).toBe('open')
    await reader.cancel()
    await expect.poll(() => provider.calls[0]?.ended).toBe('aborted')
    gate.open()
  })

  test('[RUN-7] is not ended by a server that has not heard of its run yet', async () => {
    const who = somebody()
    const device = testDevice(who)
    const served = server()
    const {run, step, events} = device.refund({orderId: 'A17', cents: 1})
    const gate = await left(served, who, nameOf({session: device.session, run, step}))
    await device.push(served, [device.open()])
    await device.push(served, [device.post('Hi'), ...events.slice(0, 2)])
    expect(provider.calls[0]?.ended).toBe('open')
    gate.open()
    await expect.poll(() => provider.calls[0]?.ended).toBe('finished')
  })
})

describe('the words of a generation', () => {
  test('[RET-1] are kept for their time; then whoever comes is told, and the cost stays', async () => {
    const [who, call] = [somebody(), nameOf()]
    const environment = movableClock()
    const served = server({environment, limits: {sweepMs: 5}})
    await all(post(served, who, call))
    environment.advance(23 * 3_600_000)
    await served.start()
    expect(textOf(await all(resume(served, who, call)))).toBe(whole)
    environment.advance(2 * 3_600_000)
    await expect.poll(() => kept(who, call)).toEqual([])
    expect(await (await post(served, who, call)).json()).toMatchObject({
      error: {code: 'model_failed', details: {reason: 'forgotten', retryable: true}},
    })
    expect(provider.calls).toHaveLength(1)
    const [row] = await database.store.modelCalls.ofRun(who as never, call.run)
    expect(row?.spent).toMatchObject({outputTokens: words.length, estimated: false})
  })

  test('[RET-2] go with their session or subject, the words under way too; others and the cost stay', async () => {
    const who = somebody()
    const [call, other, open] = [nameOf(), nameOf(), nameOf()]
    const served = server({limits: {models: {leaseMs: 60}}})
    await all(post(served, who, call))
    await all(post(served, who, other))
    const gate = provider.hold(2)
    const reading = all(post(served, who, open))
    await gate.reached(1)
    const {tokens, modelCalls} = database.store
    expect(await tokens.erase({...who, session: call.session} as never)).toBe(1)
    expect(await kept(who, call)).toEqual([])
    expect((await kept(who, other)).length).toBeGreaterThan(0)
    expect(await tokens.erase(who as never)).toBe(3)
    await expect.poll(() => provider.calls.at(-1)?.ended).toBe('aborted')
    await reading
    gate.open()
    expect([await kept(who, other), await kept(who, open)]).toEqual([[], []])
    const query = {tenant: who.tenant as never, subject: null, from: 0, to: Number.MAX_SAFE_INTEGER}
    expect(await modelCalls.totals(query)).toMatchObject([{model: 'desk', calls: 3}])
    expect(await modelCalls.ofRun(who as never, call.run)).toEqual([])
  })
})

async function kept(who: Who, call: ModelCallName): Promise<Part[]> {
  const found = await database.store.tokens.read({...who, key: modelCallKey(call)} as never, 0)
  return (found?.parts ?? []).map(({part}) => part as Part)
}

/** The store of a process until it dies: then nothing of it reaches the database any more. */
function until(store: Store, dead: () => boolean): Store {
  const mortal = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name, receiver) => {
        const found: unknown = Reflect.get(target, name, receiver)
        if (typeof found !== 'function') return found
        return (...args: unknown[]) => (dead() ? Promise.reject(new Error('killed')) : found.apply(target, args))
      },
    })
  return {...store, tokens: mortal(store.tokens), modelCalls: mortal(store.modelCalls)}
}
