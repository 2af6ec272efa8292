import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {gatewayModel, openRuntime} from '../../runtime/node.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type LogEvent, type LogLine, loggedError, openLog} from '../../runtime/protocol/log-line.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {jsonLines} from '../../sync-server/node.ts'
import {type Device, Killer, openDevice, until} from '../support/crashable-device.ts'
import {desk, deskTools, openTestServer, type TestServer} from '../support/desk.ts'
import {runFields} from '../support/telemetry.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {deskServers} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'

const canary = {
  message: 'canary-message',
  title: 'canary-title',
  note: 'canary-note',
  reply: 'canary-reply',
  provider: 'canary-provider-words',
  bank: 'canary-bank-words',
  subject: 'canary-subject',
}
const named = (lines: readonly LogLine[], event: LogEvent) => lines.filter(line => line.event === event)
const said = (lines: readonly LogLine[]) => lines.map(({event}) => event)

describe('log lines of a run', () => {
  const [onDevice, onServer]: LogLine[][] = [[], []]
  let shop: TestServer
  beforeAll(async () => {
    const provider = scriptedModel([
      {
        text: canary.reply,
        calls: [
          {tool: 'saveNote', input: {text: canary.note}},
          {tool: 'refundOrder', input: {orderId: 'B22', cents: 100}},
        ],
      },
      {error: Object.assign(new Error(canary.provider), {statusCode: 400})},
    ])
    shop = await openTestServer({models: {small: provider}, log: line => void onServer!.push(line)})
    const token = await shop.token(canary.subject)
    const runtime = await openRuntime({
      agent: desk,
      model: gatewayModel(),
      tools: deskTools as never,
      dataDir: 'memory://',
      sync: {link: shop.linkWith(async () => token), token},
      retryDelayMs: 1,
      log: line => void onDevice!.push(line),
    })
    const session = await runtime.openSession({agent: 'desk', title: canary.title})
    await session.send(canary.message)
    await until(session, view => view.status === 'failed_final' && view.pending === 0)
    await runtime.close()
    await shop.server.idle()
  })
  afterAll(() => shop.close())

  test('[OBS-1] what started and failed is told on both sides, once each, with every field of a run', () => {
    expect(said(onDevice!)).toEqual(['run.started', 'step.failed', 'run.failed'])
    expect(said(onServer!)).toEqual(['server.started', 'model.failed', 'run.failed'])
    for (const line of [...onDevice!, ...named(onServer!, 'run.failed'), ...named(onServer!, 'model.failed')]) {
      expect([line.event, runFields.filter(field => line.fields[field] === undefined)]).toEqual([line.event, []])
    }
    expect(named(onDevice!, 'run.failed')[0]).toMatchObject({level: 'warn', error: {code: 'model_failed'}})
    expect(named(onServer!, 'model.failed')[0]?.error).toEqual({code: 'model_failed', system: 'refused 400 Error'})
  })

  test('[VIEW-5] nothing that anybody wrote is in any line', () => {
    const told = JSON.stringify([onDevice, onServer])
    for (const secret of [...Object.values(canary), 'B22'])
      expect([secret, told.includes(secret)]).toEqual([secret, false])
  })
})

describe('log lines of a device', () => {
  let shop: TestServer
  let database: Awaited<ReturnType<typeof openNodeDatabase>>
  beforeAll(async () => {
    shop = await openTestServer()
    database = await openNodeDatabase({dataDir: 'memory://'})
  })
  afterAll(async () => {
    await shop.close()
    await database.close()
  })

  const open = async (model: Parameters<typeof openDevice>[0]['model'], killer = new Killer(null)) => {
    const lines: LogLine[] = []
    const log = (line: LogLine) => void lines.push(line)
    const device = await openDevice({db: database.db, shop, subject: 'maya', model, killer, log})
    return {device, lines}
  }
  const started = async (device: Device) => {
    const id = env.id('session')
    await device.service.openSession(id, {event: env.id('event'), agent: 'desk'})
    return device.session(id)
  }

  test('[OBS-1] a run that goes on in another process is told as resumed, and a dead database as a fault', async () => {
    const killer = new Killer(null)
    const first = await open(
      scriptedModel([
        {
          text: 'x',
          expect: () => {
            killer.dead = true
          },
        },
      ]),
      killer,
    )
    const session = await started(first.device)
    await session.send('Hi')
    await expect.poll(() => said(first.lines)).toContain('storage.fault')
    await first.device.close().catch(() => undefined)
    const second = await open(scriptedModel([{text: 'Here.'}]))
    await until(await second.device.session(session.id), view => view.status === 'completed' && view.pending === 0)
    await second.device.close()
    expect(said(second.lines)).toEqual(['run.resumed'])
    expect(runFields.filter(field => second.lines[0]?.fields[field] === undefined)).toEqual(['holdfast.tenant'])
  })
})

describe('log lines of a server', () => {
  const database = testDatabase()
  const servers = deskServers(database)
  let tenants = 0
  const someone = (): Who => ({tenant: `log-${++tenants}`, subject: canary.subject})
  const logged = (options: Parameters<typeof servers.server>[0] = {}) => {
    const lines: LogLine[] = []
    const server = servers.server({log: line => void lines.push(line), ...options})
    return {server, lines}
  }

  test('[OBS-1] [OP-4] an operation that became uncertain is told, and so is what became of it', async () => {
    const who = someone()
    let known = false
    const operations = servers.desk.operation({
      execute: () => Promise.reject(new Error(canary.bank)),
      reconcile: async () => {
        if (!known) throw new TypeError(`${canary.bank}\n    at canary-frame`, {cause: pgError()})
        return {notExecuted: canary.bank}
      },
    })
    const {server, lines} = logged({operations})
    const device = testDevice(who)
    const refund = device.refund({orderId: 'A1', cents: 5})
    await device.push(server, [device.open(), ...refund.events])
    await server.idle()
    servers.environment.advance(3_600_000)
    await server.sweep()
    await server.idle()
    known = true
    servers.environment.advance(3_600_000)
    await server.sweep()
    await server.idle()
    const about = {'holdfast.operation_id': refund.operation, 'gen_ai.tool.name': 'refundOrder'}
    expect(named(lines, 'operation.uncertain').map(({fields}) => fields)).toMatchObject([about])
    expect(named(lines, 'operation.reconciled').map(({fields}) => fields)).toMatchObject([
      {...about, 'holdfast.outcome': 'operation.failed', 'holdfast.settled_by': 'server'},
    ])
    for (const line of [...named(lines, 'operation.uncertain'), ...named(lines, 'operation.reconciled')]) {
      expect(runFields.filter(field => line.fields[field] === undefined)).toEqual([])
    }
    const [failed] = named(lines, 'due.failed')
    expect(failed).toMatchObject({
      level: 'error',
      fields: {'holdfast.tenant': who.tenant, 'holdfast.due': 'operation', 'holdfast.due_key': refund.operation},
      error: {code: 'TypeError', system: '57P01', frames: expect.any(Array)},
    })
    expect(named(lines, 'sweep.done')[0]?.fields).toMatchObject({'holdfast.swept.due': 1})
    expect(JSON.stringify(lines)).not.toContain('canary')
  })

  test('[OBS-1] [CUS-1] work under an epoch that is over is told, with the epoch that counts', async () => {
    const {server, lines} = logged()
    const device = testDevice(someone())
    await device.push(server, [device.open()])
    const claim = (sawEpoch: number) =>
      call(server, device.who, `/v1/sessions/${device.session}/custody`, {device: env.id('device'), sawEpoch})
    await claim(1)
    await device.push(server, device.refund({orderId: 'A1', cents: 1}).events)
    await claim(1)
    expect(named(lines, 'epoch.stale').map(({fields, error}) => [fields, error?.code])).toMatchObject([
      [
        {'holdfast.tenant': device.who.tenant, 'holdfast.session_id': device.session, 'holdfast.epoch': 2},
        'stale_epoch',
      ],
      [{'holdfast.session_id': device.session, 'http.route': '/v1/sessions/:session/custody'}, 'stale_epoch'],
    ])
  })

  test('[OBS-1] [APP-2] a forged event, a stolen decision and a bad token are told, without what was in them', async () => {
    const {server, lines} = logged()
    const device = testDevice(someone())
    const refund = device.refund({orderId: 'A1', cents: 6000})
    await device.push(server, [device.open(), ...refund.events])
    await server.idle()
    await device.push(server, [
      {...device.post('x'), kind: 'approval.granted', data: {approval: canary.message}},
      device.event('message.posted', {text: canary.message}, {actor: {type: 'person', subject: 'ben' as never}}),
    ])
    const approval = await database.store.approvals.of({
      tenant: device.who.tenant as never,
      operation: refund.operation,
    })
    const path = `/v1/approvals/${approval?.approval}/decision`
    await call(server, device.who, path, {verdict: 'approve', digest: '0'.repeat(64), note: canary.note})
    await server.app.request('/v1/sessions')
    await server.app.request(`/v1/sessions?token=${canary.note}`, {headers: {authorization: `Bearer ${canary.note}`}})
    expect(named(lines, 'event.refused').map(({fields, error}) => [fields['holdfast.events'], error?.code])).toEqual([
      [1, 'forbidden'],
      [1, 'bad_input'],
    ])
    expect(named(lines, 'decision.refused').map(({fields}) => fields)).toMatchObject([
      {'holdfast.tenant': device.who.tenant, 'holdfast.approval_id': approval?.approval},
    ])
    expect(
      named(lines, 'request.refused').map(({fields, error}) => [fields['http.route'], error?.code]),
    ).toContainEqual(['/v1/sessions', 'unauthenticated'])
    expect(JSON.stringify(lines)).not.toContain('canary')
  })

  test('[OBS-1] an erasure is told with how much it took', async () => {
    const {server, lines} = logged({
      layers: [{name: 'traces', erase: () => Promise.resolve(3), records: async function* () {}}],
    })
    const device = testDevice(someone())
    await device.push(server, [device.open(), device.post(canary.message)])
    await call(server, device.who, '/v1/erasures', {session: device.session, branches: 'keep', memory: false})
    expect(named(lines, 'erasure.done').map(({fields}) => fields)).toMatchObject([
      {'holdfast.session_id': device.session, 'holdfast.erased.sessions': 1, 'holdfast.erased.records': 3},
    ])
    expect(JSON.stringify(lines)).not.toContain('canary')
  })

  test('[OBS-1] a fault behind a route is told with the route, and not with its words', async () => {
    const faults: unknown[] = []
    const facts = {read: () => Promise.reject(new Error(canary.bank))}
    const {server, lines} = logged({facts, onFault: error => faults.push(error)})
    expect((await call(server, someone(), '/v1/facts/order%2FA1')).status).toBe(500)
    expect(named(lines, 'server.fault')).toMatchObject([
      {level: 'error', fields: {'http.route': '/v1/facts/:key{.+}', 'holdfast.tenant': expect.any(String)}},
    ])
    expect(JSON.stringify(lines)).not.toContain('canary')
    expect(faults).toMatchObject([{message: canary.bank}])
  })

  test('[SYNC-6] whoever is refused a thousand times fills no disk: a few lines, and then how many were left out', async () => {
    const {server, lines} = logged()
    for (let i = 0; i < 1000; i++) await server.app.request('/v1/sessions')
    servers.environment.advance(60_000)
    await server.app.request('/v1/sessions')
    const told = named(lines, 'request.refused')
    expect(told.length).toBeLessThan(200)
    const leftOut = told.reduce((sum, {fields}) => sum + Number(fields['holdfast.left_out'] ?? 0), 0)
    expect(told.length + leftOut).toBe(1001)
  })
})

describe('what a line may tell of an error', () => {
  test('[VIEW-5] words are told only where they are the host’s own, and never as frames', () => {
    const thrown = loggedError(new Error('canary\n    at canary (canary.ts:1:1)'))
    expect(JSON.stringify(thrown)).not.toContain('canary')
    expect(thrown.frames?.length).toBeGreaterThan(0)
    expect(loggedError(new HoldfastError('refused', 'canary')).words).toBeUndefined()
    expect(loggedError(new HoldfastError('misconfigured', 'limits: too small')).words).toBe('limits: too small')
    expect(loggedError('canary')).toEqual({code: 'unknown'})
  })

  test('a writer that throws harms nobody', () => {
    const log = openLog(
      () => {
        throw new Error('disk full')
      },
      () => 0,
    )
    expect(() => log('server.started', {})).not.toThrow()
  })

  test('[OBS-1] on Node each line is one JSON object, with its fields at the top', () => {
    const written: string[] = []
    const log = openLog(jsonLines({write: text => written.push(text)}), () => 0)
    log('run.failed', {'holdfast.run_id': 'run_1'}, {code: 'model_failed'})
    expect(written).toHaveLength(1)
    expect(written[0]?.endsWith('\n')).toBe(true)
    expect(JSON.parse(written[0] ?? '')).toEqual({
      time: '1970-01-01T00:00:00.000Z',
      level: 'warn',
      event: 'run.failed',
      message: 'A run has failed.',
      'holdfast.run_id': 'run_1',
      error: {code: 'model_failed'},
    })
  })
})

function pgError() {
  return Object.assign(new Error(canary.bank), {code: '57P01'})
}
