import {beforeAll, describe, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import type {SessionList} from '../../runtime/protocol/wire.ts'
import {type DataLayer, type ErasureScope, serverEnvironment as env, type SyncServer} from '../../sync-server/index.ts'
import {bytesWith, refOf} from '../support/blobs.ts'
import {rowsByTable, tablesWith} from '../support/scan-database.ts'
import {putBlob} from '../sync-server/support/blob-calls.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {decide, deskServers, inbox} from '../sync-server/support/desk-server.ts'
import {type TestDevice, testDevice} from '../sync-server/support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
const lead: Who = {tenant: 'acme', subject: 'lea', roles: ['lead']}
const operator: Who = {tenant: 'acme', subject: 'olga', roles: ['operator']}
const words = 'the-very-private-words'
let server: SyncServer
let subjects = 0
const newSubject = (): Who => ({tenant: 'acme', subject: `subject-${++subjects}`})

beforeAll(() => {
  server = servers.server()
  servers.desk.setOrder('acme', words, 'delivered', '1')
})

type Answer = ErasureReceipt & {error?: ErrorBody}
const erase = (who: Who, body: unknown) => call<Answer>(server, who, '/v1/erasures', body)
const receipt = async (who: Who, {erasure}: {erasure: string}) =>
  (await call<Answer>(server, who, `/v1/erasures/${erasure}`)).body
const list = async (device: TestDevice, as = device.who) =>
  (await call<SessionList>(server, as, `/v1/sessions?device=${device.device}`)).body
const purged = (device: TestDevice, erasures: string[]) =>
  call(server, device.who, '/v1/erasures/purged', {device: device.device, erasures})
const layer = (body: ErasureReceipt, name: string) => body.layers.find(one => one.name === name)

/** A session with words in every place that the server keeps: log, title, document, blob, operation, approval, audit. */
async function fullSession(who: Who): Promise<TestDevice & {approval: string; operation: string}> {
  const device = testDevice(who)
  const said = device.post(words)
  const basis = {[`order/${words}`]: '1'}
  const refund = device.refund({orderId: words, cents: 6000}, {basis, answers: [said.id]})
  await device.push(server, [
    device.event('session.opened', {agent: 'desk', policy: 'steer', title: words}),
    said,
    device.event('document.updated', {document: 'draft', update: btoa(words)}),
    ...refund.events,
  ])
  const bytes = bytesWith(words)
  await putBlob(server, who, device.session, refOf(bytes).$blob, bytes)
  await server.idle()
  const item = (await inbox(server, lead)).find(({operation}) => operation === refund.operation)
  if (!item) throw new Error('no approval')
  return {...device, approval: item.approval, operation: refund.operation}
}

async function decided(who: Who, verdict: 'approve' | 'reject') {
  const device = await fullSession(who)
  const item = (await inbox(server, lead)).find(({approval}) => approval === device.approval)
  await decide(server, lead, device.approval, {verdict, digest: item?.digest ?? '', note: words})
  await server.idle()
  return device
}

describe('erasing a session', () => {
  test.each(['approve', 'reject', null] as const)(
    '[RET-2] no table holds a word of it afterwards, whether its operation was decided (%s) or not',
    async verdict => {
      const who = newSubject()
      const device = verdict ? await decided(who, verdict) : await fullSession(who)
      expect((await tablesWith(database.db, words)).length).toBeGreaterThan(3)
      const {status, body} = await erase(who, {session: device.session})
      expect(status).toBe(200)
      expect(await tablesWith(database.db, words)).toEqual([])
      expect(await tablesWith(database.db, btoa(words))).toEqual([])
      expect(layer(body, 'transcript')?.removed).toBeGreaterThan(4)
      expect(layer(body, 'documents')).toMatchObject({removed: 1})
      expect(layer(body, 'blobs')).toEqual({name: 'blobs', removed: 1, kept: null})
      expect(layer(body, 'ledger')).toMatchObject({removed: 1, kept: expect.stringContaining('receipts')})
    },
  )

  test('[RET-2] the receipt and the digest of what was paid stay, without the words around them', async () => {
    const who = newSubject()
    const device = await decided(who, 'approve')
    const before = await servers.desk.payments(device.operation)
    await erase(who, {session: device.session})
    const row = await database.store.ledger.operation({tenant: 'acme' as never, operation: device.operation as never})
    expect(row).toMatchObject({status: 'executed', outcome: {cents: 6000}, input: null, basis: {}})
    expect(row?.digest).toMatch(/^[0-9a-f]{64}$/)
    const item = await database.store.approvals.get('acme' as never, device.approval as never)
    expect(item).toMatchObject({status: 'granted', decidedBy: 'lea', note: null, reason: '', shown: {input: null}})
    expect(await servers.desk.payments(device.operation)).toEqual(before)
    expect(await database.store.audit.about('acme' as never, device.approval)).toMatchObject([
      {action: 'approval.granted', subject: 'lea', reason: ''},
    ])
  })

  test('[RET-2] an approval that was open is void, and a late decision moves nothing', async () => {
    const who = newSubject()
    const device = await fullSession(who)
    const [item] = (await inbox(server, lead)).filter(({approval}) => approval === device.approval)
    await erase(who, {session: device.session})
    const late = await decide(server, lead, device.approval, {verdict: 'approve', digest: item?.digest ?? ''})
    expect([late.status, late.body.error?.code]).toEqual([409, 'refused'])
    await server.idle()
    expect(await servers.desk.payments(device.operation)).toEqual([])
  })

  test('[RET-3] a late push cannot bring it back: it answers "erased", to its subject alone', async () => {
    const who = newSubject()
    const device = await fullSession(who)
    const {body} = await erase(who, {session: device.session})
    const again = [device.open(), device.post(words)]
    const push = (as: Who, events: unknown[]) =>
      call<{error?: ErrorBody}>(server, as, `/v1/sessions/${device.session}/events`, {events})
    for (const events of [again, [device.post(words)]]) {
      const late = await push(who, events)
      expect([late.status, late.body.error?.code, late.body.error?.details]).toEqual([
        410,
        'erased',
        {erasure: body.erasure},
      ])
    }
    const stranger = newSubject()
    const foreign = testDevice(stranger, device.session)
    expect((await push(stranger, [foreign.open()])).status).toBe(404)
    const pull = await call<{error?: ErrorBody}>(server, who, `/v1/sessions/${device.session}/events`)
    expect([pull.status, pull.body.error?.code]).toEqual([410, 'erased'])
    expect((await call(server, stranger, `/v1/sessions/${device.session}/events`)).status).toBe(404)
    expect(await tablesWith(database.db, words)).toEqual([])
  })

  test('[RET-2] asked twice, it is erased once and gives the first receipt', async () => {
    const who = newSubject()
    const device = await fullSession(who)
    const first = (await erase(who, {session: device.session})).body
    expect((await erase(who, {session: device.session})).body).toEqual(first)
    const audit = await database.store.audit.about('acme' as never, first.erasure)
    expect(audit).toMatchObject([{action: 'session.erased', subject: who.subject, reason: ''}])
  })

  test('[RET-3] it is complete when the files are rewritten and every device has said that it purged', async () => {
    const who = newSubject()
    const [one, two] = [await fullSession(who), testDevice(who)]
    await list(one)
    await list(two)
    const started = (await erase(who, {session: one.session})).body
    expect(started).toMatchObject({status: 'waiting', outstanding: {files: true}})
    expect(started.outstanding.devices.map(({device}) => device).sort()).toEqual([one.device, two.device].sort())
    expect((await list(one)).erased).toEqual([
      {erasure: started.erasure, whole: false, sessions: [one.session], at: started.requestedAt, why: 'requested'},
    ])
    await purged(one, [started.erasure])
    await server.sweep()
    expect((await list(one)).erased).toEqual([])
    expect(await receipt(who, started)).toMatchObject({
      status: 'waiting',
      outstanding: {devices: [{device: two.device}], files: false},
    })
    await purged(two, [started.erasure])
    await purged(two, [started.erasure])
    expect(await receipt(who, started)).toMatchObject({
      status: 'complete',
      completedAt: expect.any(Number),
      outstanding: {devices: [], operations: [], files: false},
    })
  })

  test('[ID-4] nobody else can erase it, read its receipt or purge for it; an operator of the tenant can', async () => {
    const who = newSubject()
    const device = await fullSession(who)
    for (const stranger of [newSubject(), {tenant: 'other', subject: who.subject}, {...operator, tenant: 'other'}]) {
      const foreign = await erase(stranger, {session: device.session})
      const unknown = await erase(stranger, {session: env.id('session')})
      expect(foreign).toEqual(unknown)
      expect(foreign.status).toBe(404)
    }
    const {body} = await erase(operator, {session: device.session})
    expect(body).toMatchObject({subject: who.subject, requestedBy: 'olga'})
    for (const stranger of [newSubject(), {tenant: 'other', subject: who.subject}, {...operator, tenant: 'other'}]) {
      expect((await receipt(stranger, body)).error?.code).toBe('not_found')
      await call(server, stranger, '/v1/erasures/purged', {device: device.device, erasures: [body.erasure]})
    }
    expect((await receipt(operator, body)).outstanding.devices).toHaveLength(1)
    expect((await erase(newSubject(), {subject: who.subject})).body.error?.code).toBe('forbidden')
  })
})

describe('branches', () => {
  async function branched(who: Who) {
    const parent = await fullSession(who)
    const branch = testDevice(who)
    const forked = branch.event('session.forked', {
      agent: 'desk',
      policy: 'steer',
      from: {session: parent.session, seq: 2},
    })
    await branch.push(server, [forked, branch.post(`own words of ${who.subject}`)])
    const twig = testDevice(who)
    const from = {session: branch.session, seq: 2}
    await twig.push(server, [twig.event('session.forked', {agent: 'desk', policy: 'steer', from}), twig.post('a twig')])
    return {parent, branch, twig}
  }

  test('[RET-2] keep their own words when their source is erased, and the receipt says so', async () => {
    const who = newSubject()
    const {parent, branch} = await branched(who)
    const {body} = await erase(who, {session: parent.session})
    expect(layer(body, 'branches')).toEqual({name: 'branches', removed: 0, kept: expect.stringContaining('2 keep')})
    expect((await call(server, who, `/v1/sessions/${branch.session}/events`)).status).toBe(200)
    const late = testDevice(who)
    const from = {session: parent.session, seq: 2}
    const {verdicts} = await late.push(server, [late.event('session.forked', {agent: 'desk', policy: 'steer', from})])
    expect(verdicts[0]).toMatchObject({status: 'rejected', error: {code: 'not_found'}})
  })

  test('[RET-2] go with it, to the last twig, when that is asked for', async () => {
    const who = newSubject()
    const {parent, branch, twig} = await branched(who)
    const {body} = await erase(who, {session: parent.session, branches: 'erase'})
    expect(layer(body, 'branches')).toMatchObject({removed: 2, kept: null})
    for (const gone of [parent, branch, twig]) {
      expect((await call(server, who, `/v1/sessions/${gone.session}/events`)).status).toBe(410)
    }
    expect(await tablesWith(database.db, `own words of ${who.subject}`)).toEqual([])
  })
})

describe('erasing a subject', () => {
  test('[RET-2] takes every session and leaves in no table more than receipts, audit and tombstones', async () => {
    const who = newSubject()
    const devices = [await decided(who, 'approve'), await fullSession(who)]
    const other = await fullSession(newSubject())
    const {body} = await erase(who, {subject: who.subject})
    expect(body).toMatchObject({session: null, subject: who.subject, requestedBy: who.subject})
    const left = [...(await rowsByTable(database.db))].flatMap(([table, rows]) =>
      rows.some(row => devices.some(({session}) => row.includes(session)) || row.includes(`"${who.subject}"`))
        ? [table]
        : [],
    )
    const kept = [
      'hf_approvals',
      'hf_audit',
      'hf_devices',
      'hf_erasures',
      'hf_operations',
      'hf_purges',
      'hf_tombstones',
      // Counters without a word: of usage, and of what a replica of memory has seen.
      'hf_run_totals',
      'hf_memory_subjects',
    ]
    expect(kept).toEqual(expect.arrayContaining(left))
    expect((await list(other)).sessions).toHaveLength(1)
    expect((await list(devices[0] as TestDevice)).sessions).toEqual([])
    await erase(other.who, {session: other.session})
    expect(await tablesWith(database.db, words)).toEqual([])
  })

  test('[RET-3] a device that has not purged yet can bring nothing, not even a session nobody knew of', async () => {
    const who = newSubject()
    const device = await fullSession(who)
    await list(device)
    const {body} = await erase(who, {subject: who.subject})
    const unknown = {...testDevice(who), device: device.device}
    const opening = {...testDevice(who, unknown.session).open(), device: device.device, session: unknown.session}
    const push = () =>
      call<{error?: ErrorBody}>(server, who, `/v1/sessions/${unknown.session}/events`, {events: [opening]})
    expect((await push()).body.error?.code).toBe('erased')
    expect((await list(device)).erased).toMatchObject([{erasure: body.erasure, whole: true, sessions: []}])
    await purged(device, [body.erasure])
    expect((await push()).status).toBe(200)
  })
})

describe('layers beside the store', () => {
  const layers = () => {
    const asked: [string, ErasureScope][] = []
    const of = (name: string, derived: boolean, fails = 0): DataLayer => {
      let left = fails
      return {
        name,
        derived,
        erase: async scope => {
          if (left-- > 0) throw new Error('not now')
          asked.push([name, scope])
          return 7
        },
        records: async function* () {},
      }
    }
    return {asked, of}
  }

  test('[RET-4] what was derived stays unless it is asked for, and the receipt says which', async () => {
    const {asked, of} = layers()
    const served = servers.server({layers: [of('traces', false), of('notebook', true)]})
    const who = newSubject()
    const [one, two] = [await fullSession(who), await fullSession(who)]
    const post = async (body: unknown) => (await call<Answer>(served, who, '/v1/erasures', body)).body
    const kept = await post({session: one.session})
    expect(kept.layers.slice(-2)).toEqual([
      {name: 'traces', removed: 7, kept: null},
      {name: 'notebook', removed: 0, kept: expect.stringContaining('not asked for')},
    ])
    expect(asked.map(([name]) => name)).toEqual(['traces'])
    const gone = await post({session: two.session, memory: true})
    expect(layer(gone, 'notebook')).toEqual({name: 'notebook', removed: 7, kept: null})
    expect(asked.at(-1)).toEqual([
      'notebook',
      {
        tenant: 'acme',
        subject: who.subject,
        sessions: [two.session],
        operations: [expect.stringMatching(/^opn_/)],
        whole: false,
      },
    ])
    expect(layer(await post({subject: who.subject}), 'notebook')).toMatchObject({removed: 7, kept: null})
  })

  test('[RET-2] are erased again when an operation ends that was started before', async () => {
    const written: string[] = []
    let paid: () => void = () => undefined
    let started: () => void = () => undefined
    const [atWork, mayEnd] = [
      new Promise<void>(resolve => {
        started = resolve
      }),
      new Promise<void>(resolve => {
        paid = resolve
      }),
    ]
    const operations = servers.desk.operation({
      execute: async ({operation}) => {
        started()
        await mayEnd
        written.push(operation)
        return {receipt: 'R-1'}
      },
    })
    const notes: DataLayer = {
      name: 'notes',
      erase: async scope => written.splice(0).filter(id => scope.operations.some(operation => operation === id)).length,
      records: async function* () {},
    }
    const served = servers.server({operations, layers: [notes]})
    const who = newSubject()
    const device = testDevice(who)
    await device.push(served, [device.open(), ...device.refund({orderId: 'A1', cents: 5}).events])
    await atWork
    const erased = (await call<Answer>(served, who, '/v1/erasures', {session: device.session})).body
    expect(layer(erased, 'notes')).toMatchObject({removed: 0})
    expect(erased.outstanding.operations).toHaveLength(1)
    paid()
    await served.idle()
    expect(written).toHaveLength(1)
    await served.sweep()
    expect(written).toEqual([])
    const after = await receipt(who, erased)
    expect(layer(after as Answer, 'notes')).toMatchObject({removed: 1})
    expect(after).toMatchObject({status: 'waiting', outstanding: {operations: []}})
  })

  test('[RET-2] one that fails is erased by a later sweep; what was asked is not forgotten', async () => {
    const {of} = layers()
    const faults: unknown[] = []
    const served = servers.server({layers: [of('traces', false, 2)], onFault: fault => faults.push(fault)})
    const who = newSubject()
    const device = await fullSession(who)
    expect((await call<Answer>(served, who, '/v1/erasures', {session: device.session})).status).toBe(500)
    const again = (await call<Answer>(served, who, '/v1/erasures', {session: device.session})).body
    expect(again.error?.code ?? again.status).toBe('internal')
    await served.sweep()
    const stone = await database.store.erasures.tombstone(who as never, device.session)
    expect(await receipt(who, {erasure: stone ?? ''})).toMatchObject({
      status: 'waiting',
      layers: expect.arrayContaining([{name: 'traces', removed: 7, kept: null}]),
    })
  })
})

describe('an effect under way', () => {
  test.each(['comes to its end', 'is found out later'] as const)(
    '[OP-4, RET-2] whose session is erased %s: the ledger has its receipt, and only then its input goes',
    async how => {
      let release = () => {}
      const gate = new Promise<void>(resolve => {
        release = resolve
      })
      const {operation: operations, pay} = servers.desk
      const execute = async ({operation, input}: {operation: string; input: {cents: number}}) => {
        const paid = await pay(operation, input.cents)
        await gate
        if (how === 'is found out later') throw new Error('the line broke')
        return paid
      }
      const served = servers.server({operations: operations({execute, authorise: () => ({allow: 'ok'})})})
      const who = newSubject()
      const device = testDevice(who)
      const refund = device.refund({orderId: words, cents: 100})
      await device.push(served, [device.open(), ...refund.events])
      await expect.poll(() => servers.desk.payments(refund.operation)).toHaveLength(1)
      const {body} = await call<Answer>(served, who, '/v1/erasures', {session: device.session})
      expect(body.outstanding.operations).toEqual([refund.operation])
      release()
      await served.idle()
      await served.sweep()
      await served.idle()
      const row = await database.store.ledger.operation({tenant: 'acme', operation: refund.operation} as never)
      expect(row).toMatchObject({status: 'executed', input: null, outcome: {cents: 100}})
      await purged(device, [body.erasure])
      await served.sweep()
      expect(await receipt(who, body)).toMatchObject({status: 'complete'})
      expect(await tablesWith(database.db, words)).toEqual([])
    },
  )
})
