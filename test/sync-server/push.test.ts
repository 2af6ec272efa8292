import {beforeAll, describe, expect, test} from 'vitest'
import type {Envelope} from '../../runtime/protocol/event.ts'
import type {Page, PushAnswer, SessionSummary} from '../../runtime/protocol/wire.ts'
import {createSyncServer, serverEnvironment as env, type SyncServer} from '../../sync-server/index.ts'
import {call, headersOf, trustingAuth, type Who} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {pin, testDevice} from './support/device.ts'

const database = testDatabase()
let server: SyncServer
beforeAll(() => {
  const facts = {read: async () => null}
  server = underContract(createSyncServer({store: database.store, authenticate: trustingAuth, facts, operations: {}}))
})

let tenants = 0
const someone = (over: Partial<Who> = {}): Who => ({tenant: `push-${++tenants}`, subject: 'ana', ...over})
const statuses = (answer: PushAnswer) => answer.verdicts.map(verdict => verdict.status)
const codes = (answer: PushAnswer) =>
  answer.verdicts.map(verdict => (verdict.status === 'rejected' ? verdict.error.code : verdict.status))

async function pull(who: Who, session: string, after = 0): Promise<Page> {
  return (await call<Page>(server, who, `/v1/sessions/${session}/events?after=${after}`)).body
}

describe('push', () => {
  test('[SYNC-1] each event gets its own verdict, and a bad one in the middle blocks none behind it', async () => {
    const device = testDevice(someone())
    const bad = {...device.post('x'), data: {text: 7}}
    const answer = await device.push(server, [device.open(), device.post('one'), bad, device.post('two')])
    expect(codes(answer)).toEqual(['accepted', 'accepted', 'bad_input', 'accepted'])
    expect(answer.head).toBe(3)
    const page = await pull(device.who, device.session)
    expect(page.events.map(event => event.seq)).toEqual([1, 2, 3])
    expect(page.more).toBe(false)
  })

  test('[SYNC-4] the same batch sent again after its answer was lost gets duplicates with the first seq', async () => {
    const device = testDevice(someone())
    const batch = [device.open(), device.post('one'), device.post('two')]
    const first = await device.push(server, batch)
    const again = await device.push(server, [...batch, device.post('three')])
    expect(statuses(again)).toEqual(['duplicate', 'duplicate', 'duplicate', 'accepted'])
    expect(again.verdicts.map(verdict => 'seq' in verdict && verdict.seq)).toEqual([1, 2, 3, 4])
    expect(first.head).toBe(3)
  })

  test('[LOG-3] the same id twice in one batch is stored once', async () => {
    const device = testDevice(someone())
    const post = device.post('one')
    expect(statuses(await device.push(server, [device.open(), post, post]))).toEqual([
      'accepted',
      'accepted',
      'duplicate',
    ])
  })

  test('[LOG-3] a second delivery with its keys in another order is the same event', async () => {
    const device = testDevice(someone())
    const post = device.post('one')
    await device.push(server, [device.open(), post])
    const turned = Object.fromEntries(Object.entries(post).reverse())
    expect(statuses(await device.push(server, [turned]))).toEqual(['duplicate'])
  })

  test('[LOG-3] the same id with other content is refused and the first stays', async () => {
    const device = testDevice(someone())
    const post = device.post('one')
    await device.push(server, [device.open(), post])
    const forged = {...post, data: {text: 'another'}, deviceSeq: 50}
    expect(codes(await device.push(server, [forged]))).toEqual(['conflict'])
    expect((await pull(device.who, device.session)).events[1]?.data).toEqual({text: 'one'})
  })

  test('[LOG-3] an id that another session holds is refused, not moved', async () => {
    const who = someone()
    const one = testDevice(who)
    const other = testDevice(who)
    const post = one.post('one')
    await one.push(server, [one.open(), post])
    const answer = await other.push(server, [other.open(), {...other.post('two'), id: post.id}])
    expect(codes(answer)).toEqual(['accepted', 'conflict'])
  })

  test('[SYNC-1] a device sequence used again for another event is refused instead of acknowledged and lost', async () => {
    const device = testDevice(someone())
    const post = device.post('one')
    await device.push(server, [device.open(), post])
    const answer = await device.push(server, [{...device.post('two'), deviceSeq: post.deviceSeq}])
    expect(codes(answer)).toEqual(['conflict'])
  })

  test('[LOG-2] two devices that push at once get one gapless sequence', async () => {
    const who = someone()
    const a = testDevice(who)
    const b = testDevice(who, a.session)
    await a.push(server, [a.open()])
    // One device says one thing after the other, as its log has them; the two devices do not wait for each other.
    const sayAll = async (device: typeof a, batches: (i: number) => Envelope[]) => {
      const answers = []
      for (let i = 0; i < 10; i++) answers.push(await device.push(server, batches(i)))
      return answers
    }
    const answers = await Promise.all([
      sayAll(a, i => [a.post(`a${i}`)]),
      sayAll(b, i => [b.post(`b${i}`), b.post('x')]),
    ])
    expect(
      answers
        .flat()
        .flatMap(statuses)
        .every(status => status === 'accepted'),
    ).toBe(true)
    const {events} = await pull(who, a.session)
    expect(events.map(event => event.seq)).toEqual(Array.from({length: 31}, (_, i) => i + 1))
  })

  test('[SYNC-4] two pushes that open one session at once end as one session', async () => {
    const device = testDevice(someone())
    const open = device.open()
    const answers = await Promise.all([device.push(server, [open]), device.push(server, [open])])
    expect(answers.flatMap(statuses).sort()).toEqual(['accepted', 'duplicate'])
  })

  test('[APP-2] a server event pushed by a device is refused by its kind', async () => {
    const device = testDevice(someone())
    const forged = {
      ...device.post('x'),
      kind: 'custody.granted',
      data: {holder: device.device, epoch: 2, reason: 'requested'},
    }
    expect(codes(await device.push(server, [device.open(), forged]))).toEqual(['accepted', 'forbidden'])
  })

  test('[APP-2] what only the server writes is audited when a device pushes it, well formed or not, once a batch', async () => {
    const device = testDevice(someone())
    const forged = (kind: string) => ({...device.post('x'), kind, data: {approval: 'mine'}})
    const batch = [device.open(), forged('approval.granted'), forged('operation.executed'), forged('approval.granted')]
    expect(codes(await device.push(server, batch))[0]).toBe('accepted')
    const auditor = {...device.who, subject: 'aud', roles: ['auditor']}
    const {entries} = (
      await call<{entries: {action: string; about: string; subject: string; reason: string}[]}>(
        server,
        auditor,
        '/v1/audit',
      )
    ).body
    expect(entries).toMatchObject([
      {
        action: 'event.forged',
        about: device.session,
        subject: 'ana',
        reason: 'A device pushed what only the server writes: approval.granted, operation.executed',
      },
    ])
  })

  test('[CUS-4] custody that rests on an event which does not exist is refused', async () => {
    const device = testDevice(someone())
    await device.push(server, [device.open(), device.post('one')])
    const other = testDevice(device.who, device.session)
    const assumed = other.event('custody.assumed', {epoch: 2, restsOn: 1_000_000_000})
    const [verdict] = (await other.push(server, [assumed])).verdicts
    expect(verdict).toMatchObject({status: 'rejected', error: {code: 'stale_epoch'}})
    expect(statuses(await device.push(server, [device.post('two')]))).toEqual(['accepted'])
  })

  test('[CUS-1] an event under a stale epoch is refused', async () => {
    const device = testDevice(someone())
    await device.push(server, [device.open()])
    const claim = {device: env.id('device'), sawEpoch: 1}
    expect((await call(server, device.who, `/v1/sessions/${device.session}/custody`, claim)).status).toBe(200)
    const {events} = device.refund({orderId: 'A1', cents: 1})
    expect(codes(await device.push(server, events.slice(0, 1)))).toEqual(['stale_epoch'])
  })

  test('[LOG-4] an event of an unknown kind or a newer version is refused as unreadable', async () => {
    const device = testDevice(someone())
    const unknown = {...device.post('x'), kind: 'message.sung'}
    const newer = {...device.post('x'), v: 2}
    const answer = await device.push(server, [device.open(), unknown, newer])
    expect(codes(answer)).toEqual(['accepted', 'unreadable_event', 'unreadable_event'])
  })

  test.each([
    ['another subject', {actor: {type: 'person', subject: 'eve'}}, 'forbidden'],
    ['a service', {actor: {type: 'service', name: 'operations'}}, 'forbidden'],
    ['an agent that posts for a person', {actor: {type: 'agent', name: 'desk'}}, 'forbidden'],
    ['another session', {session: env.id('session')}, 'bad_input'],
    ['a seq of its own', {seq: 2}, 'bad_input'],
    ['no device', {device: null, deviceSeq: null}, 'bad_input'],
    ['a second device in one batch', {device: env.id('device')}, 'bad_input'],
  ])('[ID-4] an event that claims %s is refused', async (_, claim, code) => {
    const device = testDevice(someone())
    const answer = await device.push(server, [device.open(), {...device.post('x'), ...claim}])
    expect(codes(answer)).toEqual(['accepted', code])
  })

  test('[SYNC-1] 500 events with one bad one: 499 land in one push, 501 are refused whole', async () => {
    const device = testDevice(someone())
    const batch: Envelope[] = [device.open(), ...Array.from({length: 499}, (_, i) => device.post(`message ${i}`))]
    batch[250] = {...device.post('x'), data: {text: ''}}
    const answer = await device.push(server, batch)
    expect(statuses(answer).filter(status => status === 'accepted')).toHaveLength(499)
    expect(answer.head).toBe(499)
    const over = await call(server, device.who, `/v1/sessions/${device.session}/events`, {
      events: [...batch, device.post('y')],
    })
    expect(over.status).toBe(400)
  })

  test('[RUN-6] a fork needs a source that is the same person’s and reaches that far', async () => {
    const who = someone()
    const source = testDevice(who)
    await source.push(server, [source.open(), source.post('one')])
    const forkOf = (from: {session: typeof source.session; seq: number}, by = who) => {
      const fork = testDevice(by)
      return fork.push(server, [fork.event('session.forked', {agent: 'desk', policy: 'steer', from})])
    }
    expect(codes(await forkOf({session: source.session, seq: 2}))).toEqual(['accepted'])
    expect(codes(await forkOf({session: source.session, seq: 3}))).toEqual(['not_found'])
    expect(codes(await forkOf({session: source.session, seq: 2}, {...who, subject: 'eve'}))).toEqual(['not_found'])
    const {body} = await call<{sessions: SessionSummary[]}>(server, who, '/v1/sessions')
    expect(body.sessions).toHaveLength(2)
  })

  test('[ID-1] a run or operation id that was used before cannot name another one', async () => {
    const who = someone()
    const one = testDevice(who)
    const first = one.refund({orderId: 'A1', cents: 1})
    await one.push(server, [one.open(), ...first.events])
    const other = testDevice(who)
    const second = other.refund({orderId: 'A1', cents: 1})
    const proposal = second.events[3] as Envelope
    const reused = {...proposal, data: Object.assign({}, proposal.data, {operation: first.operation})}
    const answer = await other.push(server, [other.open(), ...second.events.slice(0, 3), reused])
    expect(codes(answer).at(-1)).toBe('conflict')
    const third = testDevice(who)
    const stolen = third.event('run.started', {pin}, third.held(first.run))
    expect(codes(await third.push(server, [third.open(), stolen]))).toEqual(['accepted', 'conflict'])
  })

  test.each(['the same session', 'another session'])(
    '[ID-1] [LOG-7] a call id that an earlier run has taken is refused in %s',
    async where => {
      const one = testDevice(someone())
      const first = one.refund({orderId: 'A1', cents: 1})
      await one.push(server, [one.open(), ...first.events, one.event('run.cancelled', {}, {run: first.run})])
      const later = where === 'the same session' ? one : testDevice(one.who)
      const opening = later === one ? [one.post('And again.')] : [later.open()]
      const second = later.refund({orderId: 'A2', cents: 2})
      const [started, prepared, replied] = second.events as [Envelope, Envelope, Envelope]
      const content = [{type: 'call', call: first.call, providerCall: 'p', tool: 'refundOrder', input: {}}]
      // Last, since a device counts its events as they are first read.
      const reply = () => ({...replied, data: Object.assign({}, replied.data, {content})})
      const result = {call: first.call, outcome: 'aborted', output: null} as const
      const answered = later === one ? [later.event('tool.returned', result, later.held(second.run))] : []
      const before = await later.push(server, [...opening, started, ...answered, prepared])
      const answer = await later.push(server, [reply()])
      expect(new Set(codes(before))).toEqual(new Set(['accepted']))
      expect(codes(answer)).toEqual(['conflict'])
      expect(JSON.stringify(answer.verdicts)).toContain(first.call)
    },
  )

  test('[LOG-2] a batch that is refused whole leaves no session behind', async () => {
    const device = testDevice(someone())
    const forged = {...device.open(), actor: {type: 'person', subject: 'eve'}}
    expect(codes(await device.push(server, [forged, device.post('one')]))).toEqual(['forbidden', 'not_found'])
    const {body} = await call<{sessions: SessionSummary[]}>(server, device.who, '/v1/sessions')
    expect(body.sessions).toEqual([])
  })
})

describe('pull', () => {
  test('[SYNC-3] pages are bounded by count and by size, restart anywhere and skip nothing', async () => {
    const device = testDevice(someone())
    await device.push(server, [device.open()])
    const update = Buffer.alloc(60_000).toString('base64')
    for (let i = 0; i < 5; i++) {
      const documents = Array.from({length: 6}, () => device.event('document.updated', {document: 'draft', update}))
      await device.push(server, documents)
    }
    const seen: number[] = []
    let after = 0
    let pages = 0
    for (;;) {
      const page = await pull(device.who, device.session, after)
      seen.push(...page.events.map(event => event.seq ?? 0))
      after = seen.at(-1) ?? 0
      pages++
      if (!page.more) break
    }
    expect(seen).toEqual(Array.from({length: 31}, (_, i) => i + 1))
    expect(pages).toBeGreaterThan(1)
    expect((await pull(device.who, device.session, 31)).events).toEqual([])
    expect((await pull(device.who, device.session, 99)).more).toBe(false)
  })

  test('[ID-2] the list holds the subject’s own sessions with their heads and titles', async () => {
    const device = testDevice(someone())
    await device.push(server, [
      device.event('session.opened', {agent: 'desk', policy: 'steer', title: 'A\u0000\ud800'}),
    ])
    const {body} = await call<{sessions: SessionSummary[]}>(server, device.who, '/v1/sessions')
    expect(body.sessions).toMatchObject([{id: device.session, agent: 'desk', title: 'A\u0000\ud800', head: 1}])
    const stranger = await call<{sessions: SessionSummary[]}>(server, {...device.who, subject: 'eve'}, '/v1/sessions')
    expect(stranger.body.sessions).toEqual([])
  })

  test.each(['x', '-1', '1.5', '1e3', '99999999999999999999'])('a cursor %j is refused by name', async after => {
    const device = testDevice(someone())
    const response = await server.app.request(`/v1/sessions/${device.session}/events?after=${after}`, {
      headers: headersOf(device.who),
    })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('after')
  })
})
