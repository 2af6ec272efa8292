import {expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import {tablesWith} from '../support/scan-database.ts'
import {approverDevice} from '../sync-server/support/approver-device.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {decide, deskServers, inbox} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
const words = 'Zwetschgendatschi'

test('[RET-2] erasing an approver takes the keys of their devices and what they said when they lent a role', async () => {
  const server = servers.server()
  const lea: Who = {tenant: 'erase-approver', subject: 'lea', roles: ['lead']}
  const {publicKey} = await approverDevice()
  await call(server, lea, '/v1/approver-keys', {publicKey, label: `${words} phone`})
  const until = Date.now() + 240_000
  await call(server, lea, '/v1/delegations', {role: 'lead', to: 'dan', until, reason: `${words} weekend`})
  const {body} = await call<ErasureReceipt>(server, lea, '/v1/erasures', {subject: 'lea'})
  expect(body.layers).toEqual(
    expect.arrayContaining([
      {name: 'approver keys', removed: 1, kept: null},
      {name: 'delegations', removed: 1, kept: 'who lent which role to whom and when'},
    ]),
  )
  expect(await tablesWith(database.db, words)).toEqual([])
})

test('[RET-2] erasing a session takes what its approvers noted and the messages that have not been delivered', async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const webhooks = [{url: 'http://127.0.0.1:9/', secret, events: ['approval.requested'] as const}]
  const approval = {role: 'lead', reason: words, expiresInMs: 60_000, approvers: 2}
  const operations = servers.desk.operation({authorise: () => ({approval})})
  const server = servers.server({operations, notify: {webhooks}})
  const ana: Who = {tenant: 'erase-session', subject: 'ana'}
  const lea: Who = {tenant: ana.tenant, subject: 'lea', roles: ['lead']}
  const device = testDevice(ana)
  const refund = device.refund({orderId: words, cents: 6000})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const [item] = await inbox(server, lea)
  await decide(server, lea, item!.approval, {verdict: 'approve', digest: item!.digest, note: words})
  expect(await tablesWith(database.db, words)).toContain('hf_due')
  const {body} = await call<ErasureReceipt>(server, ana, '/v1/erasures', {session: device.session})
  expect(body.layers).toContainEqual({name: 'messages to webhooks', removed: 1, kept: null})
  expect(await tablesWith(database.db, words)).toEqual([])
})
