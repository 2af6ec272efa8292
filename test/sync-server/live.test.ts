import {describe, expect, test} from 'vitest'
import type {LiveMessage} from '../../runtime/protocol/wire.ts'
import {serveNode} from '../../sync-server/node.ts'
import {headersOf, type Served, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {decide, deskServers, inbox} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'
import {readStream} from './support/read-stream.ts'

const database = testDatabase()
const servers = deskServers(database)
let tenants = 0
const tenant = () => `live-${++tenants}`

async function listen(served: Served, who: Who) {
  const stream = readStream(await served.app.request('/v1/live', {headers: headersOf(who)}))
  expect(await stream.next<LiveMessage>()).toEqual({type: 'hello'})
  return {...stream, next: () => stream.next<LiveMessage>(), rest: () => stream.rest<LiveMessage>()}
}

describe('live', () => {
  test('[SYNC-3] a commit pokes the subject’s devices with the new head, and nobody else’s', async () => {
    const server = servers.server()
    const who: Who = {tenant: tenant(), subject: 'ana'}
    const mine = await listen(server, who)
    const colleague = await listen(server, {...who, subject: 'eve'})
    const device = testDevice(who)
    await device.push(server, [device.open(), device.post('one')])
    expect(await mine.next()).toEqual({type: 'head', session: device.session, head: 2})
    await server.close()
    expect(await mine.rest()).toEqual([])
    expect(await colleague.rest()).toEqual([])
  })

  test('[APP-6] an approval pokes holders of its role, and again when it is decided', async () => {
    const server = servers.server()
    const who: Who = {tenant: tenant(), subject: 'ana'}
    const lead: Who = {tenant: who.tenant, subject: 'lea', roles: ['lead']}
    const leads = await listen(server, lead)
    const clerks = await listen(server, {...lead, roles: ['clerk']})
    const foreign = await listen(server, {...lead, tenant: tenant()})
    const device = testDevice(who)
    await device.push(server, [device.open(), ...device.refund({orderId: 'A1', cents: 6000}).events])
    expect(await leads.next()).toEqual({type: 'inbox'})
    const [item] = await inbox(server, lead)
    if (!item) throw new Error('nothing in the inbox')
    await decide(server, lead, item.approval, {verdict: 'reject', digest: item.digest})
    expect(await leads.next()).toEqual({type: 'inbox'})
    await server.close()
    expect(await clerks.rest()).toEqual([])
    expect(await foreign.rest()).toEqual([])
  })

  test('[FACT-2] a changed fact pokes its tenant with the key', async () => {
    const server = servers.server()
    const who: Who = {tenant: tenant(), subject: 'ana'}
    const mine = await listen(server, who)
    servers.desk.setOrder(tenant(), 'B2', 'lost', 'v1')
    servers.desk.setOrder(who.tenant, 'A1', 'shipped', 'v2')
    expect(await mine.next()).toEqual({type: 'fact', key: 'order/A1'})
    await server.close()
  })

  test('[SYNC-4] the stream says that the token has expired and ends', async () => {
    const server = servers.server({limits: {heartbeatMs: 20}})
    const expiresAt = servers.environment.now() + 600
    const stream = await listen(server, {tenant: tenant(), subject: 'ana', expiresAt})
    expect(await stream.rest()).toEqual([{type: 'expired'}])
    expect(stream.comments.length).toBeGreaterThan(1)
    await server.close()
  })

  test('[SYNC-6] a reader that sleeps finds one poke a session, with the latest head', async () => {
    const server = servers.server()
    const who: Who = {tenant: tenant(), subject: 'ana'}
    const sleeper = await listen(server, who)
    const device = testDevice(who)
    await device.push(server, [device.open()])
    for (let i = 0; i < 20; i++) await device.push(server, [device.post(`message ${i}`)])
    const heads: number[] = []
    while (heads.at(-1) !== 21) {
      const message = await sleeper.next()
      if (message?.type === 'head') heads.push(message.head)
    }
    expect(heads.length).toBeLessThan(10)
    await server.close()
  })

  test('[SYNC-4] on Node a closing server ends its streams, frees its port and lets go at once', async () => {
    const server = servers.server()
    const host = await serveNode(server, {port: 0})
    const who: Who = {tenant: tenant(), subject: 'ana'}
    const stream = readStream(await fetch(`${host.url}/v1/live`, {headers: headersOf(who)}))
    expect(await stream.next()).toEqual({type: 'hello'})
    const device = testDevice(who)
    const pushed = await fetch(`${host.url}/v1/sessions/${device.session}/events`, {
      method: 'POST',
      headers: headersOf(who),
      body: JSON.stringify({events: [device.open()]}),
    })
    expect(pushed.status).toBe(200)
    expect(await stream.next()).toEqual({type: 'head', session: device.session, head: 1})
    await host.close()
    expect(await stream.rest()).toEqual([])
    await expect(fetch(`${host.url}/healthz`)).rejects.toThrow()
  })
})
