import {createHmac} from 'node:crypto'
import {createServer, type IncomingHttpHeaders} from 'node:http'
import type {AddressInfo} from 'node:net'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {SyncServerOptions, Webhook} from '../../sync-server/index.ts'
import type {Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {decide, deskServers, inbox} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
const secretBytes = Buffer.alloc(32, 7)
const secret = `whsec_${secretBytes.toString('base64')}`
let tenants = 0

type Delivery = {headers: IncomingHttpHeaders; body: string}

/** Somebody who is told; answers with what is in `answers`, first things first, and then with 204. */
async function receiver() {
  const received: Delivery[] = []
  const answers: number[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({headers: request.headers, body})
    response.writeHead(answers.shift() ?? 204).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const {port} = server.address() as AddressInfo
  return {
    received,
    answers,
    url: `http://127.0.0.1:${port}/hook`,
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

let hook: Awaited<ReturnType<typeof receiver>>
beforeAll(async () => {
  hook = await receiver()
})
afterAll(() => hook.close())

const told = (events: Webhook['events'] = ['approval.requested']) => ({webhooks: [{url: hook.url, secret, events}]})

async function waiting(options: Partial<SyncServerOptions> = {}) {
  const who: Who = {tenant: `hook-${++tenants}`, subject: 'ana'}
  const lead: Who = {tenant: who.tenant, subject: 'lea', roles: ['lead']}
  const parts = {notify: told(), limits: {sweepMs: 20}, onFault: () => {}, ...options}
  const server = servers.server(parts)
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 6000})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const own = () => hook.received.filter(({body}) => body.includes(`"${who.tenant}"`))
  return {who, lead, server, device, refund, own}
}

/** As a receiver checks it, with the recipe of Standard Webhooks. */
function signatureOf({headers, body}: Delivery): string {
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return `v1,${createHmac('sha256', secretBytes).update(text).digest('base64')}`
}

describe('webhooks', () => {
  test('[APP-6] an approver’s system is told what was asked, signed over id, time and body', async () => {
    const {server, refund, own} = await waiting()
    await server.start()
    await expect.poll(() => own().length).toBe(1)
    await server.close()
    const [delivery] = own()
    expect(delivery?.headers['webhook-signature']).toBe(signatureOf(delivery!))
    expect(delivery?.headers['webhook-id']).toMatch(/^evt_/)
    expect(Math.abs(Number(delivery?.headers['webhook-timestamp']) * 1000 - servers.environment.now())).toBeLessThan(
      60_000,
    )
    expect(JSON.parse(delivery?.body ?? '')).toMatchObject({
      type: 'approval.requested',
      data: {operation: refund.operation, role: 'lead', shown: {tool: 'refundOrder', input: {cents: 6000}}},
    })
    expect(delivery?.body).not.toContain(secret)
  })

  test('[SYNC-6] a receiver that fails is told again later, under the same id and with the same body', async () => {
    const {server, own} = await waiting()
    hook.answers.push(500, 302)
    await server.start()
    for (const attempts of [1, 2, 3]) {
      await expect.poll(() => own().length).toBe(attempts)
      await server.idle()
      servers.environment.advance(30_000)
    }
    await server.idle()
    servers.environment.advance(86_400_000)
    await server.idle()
    await server.close()
    const [first, ...repeats] = own()
    expect(repeats).toHaveLength(2)
    for (const repeat of repeats) {
      expect(repeat.headers['webhook-id']).toBe(first?.headers['webhook-id'])
      expect(repeat.body).toBe(first?.body)
      expect(repeat.headers['webhook-signature']).toBe(signatureOf(repeat))
    }
  })

  test('[APP-6] what was not delivered when the process ended is delivered by the next', async () => {
    const {own} = await waiting()
    expect(own()).toEqual([])
    const next = servers.server({notify: told(), limits: {sweepMs: 20}})
    await next.start()
    await expect.poll(() => own().length).toBe(1)
    await next.close()
  })

  test('[SYNC-6] after the last attempt, and at once after 410 Gone, it is given up on, said and audited', async () => {
    const faults: unknown[] = []
    const {who, server, own} = await waiting({onFault: error => faults.push(error)})
    hook.answers.push(...Array(11).fill(503), 503)
    await server.start()
    for (let attempt = 1; attempt <= 12; attempt++) {
      await expect.poll(() => own().length).toBe(attempt)
      await server.idle()
      servers.environment.advance(8 * 3_600_000)
    }
    await expect.poll(() => faults.length).toBe(1)
    const [delivery] = own()
    const entries = await database.store.audit.about(who.tenant as never, String(delivery?.headers['webhook-id']))
    expect(entries).toMatchObject([{action: 'webhook.given_up', reason: expect.stringContaining('HTTP 503')}])
    hook.answers.push(410)
    const gone = await waiting({onFault: error => faults.push(error)})
    await expect.poll(() => faults.length).toBe(2)
    servers.environment.advance(86_400_000)
    await server.idle()
    expect(gone.own()).toHaveLength(1)
    await server.close()
  })

  test('only the events that were asked for are told, each once, in the transaction that has them', async () => {
    const {lead, server, own} = await waiting({notify: told(['approval.granted', 'operation.executed'])})
    await server.start()
    const [item] = await inbox(server, lead)
    await decide(server, lead, item!.approval, {verdict: 'approve', digest: item!.digest})
    await expect.poll(() => own().length).toBe(2)
    await server.close()
    expect(
      own()
        .map(({body}) => JSON.parse(body).type)
        .sort(),
    ).toEqual(['approval.granted', 'operation.executed'])
  })

  const good = {url: 'https://example.test/hook', secret, events: ['approval.requested'] as const}
  test.each<[string, Webhook, string]>([
    ['no address', {...good, url: 'example'}, 'notify.webhooks.0.url'],
    ['an address of another kind', {...good, url: 'file:///etc/passwd'}, 'notify.webhooks.0.url'],
    ['a short secret', {...good, secret: 'whsec_AAAA'}, 'notify.webhooks.0.secret'],
    ['a secret of another kind', {...good, secret: 'a'.repeat(40)}, 'notify.webhooks.0.secret'],
    ['an event that is none', {...good, events: ['message.posted' as never]}, 'notify.webhooks.0.events'],
  ])('%s is a misconfiguration, said at once and without the secret', (_, webhook, where) => {
    const open = () => servers.server({notify: {webhooks: [webhook]}})
    expect(open).toThrow(where)
    expect(open).not.toThrow(webhook.secret)
  })
})
