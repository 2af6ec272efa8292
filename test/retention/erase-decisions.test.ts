import {expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {Inbox} from '../../runtime/protocol/wire.ts'
import {tablesWith} from '../support/scan-database.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {decide, deskServers, inbox, logOf} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let tenants = 0

function people() {
  const tenant = `erase-decisions-${++tenants}`
  const lead = (subject: string): Who => ({tenant, subject, roles: ['lead']})
  return {ana: {tenant, subject: 'ana'} as Who, lea: lead('lea'), dan: lead('dan')}
}

const layersOf = (receipt: ErasureReceipt) => receipt.layers.map(({name}) => name)

test.for(['approve', 'reject'] as const)(
  '[RET-2] the words of an erased approver go from the sessions of others: %s',
  async verdict => {
    const words = `Wachtelweizen "${verdict}" ${tenants}`
    const {ana, lea, dan} = people()
    const webhooks = [
      {
        url: 'http://127.0.0.1:9/',
        secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
        events: ['approval.endorsed', 'approval.rejected'] as const,
      },
    ]
    const approval = {role: 'lead', reason: 'large', expiresInMs: 60_000, approvers: 2}
    const operations = servers.desk.operation({authorise: () => ({approval})})
    const server = servers.server({operations, notify: {webhooks}})
    const device = testDevice(ana)
    const refund = device.refund({orderId: 'A1', cents: 6000})
    await device.push(server, [device.open(), ...refund.events])
    await server.idle()
    const [item] = await inbox(server, lea)
    const decision = {verdict, digest: item!.digest, note: words}
    await decide(server, lea, item!.approval, decision)
    if (verdict === 'reject') {
      const output = {by: 'lea', note: words}
      const returned = device.event(
        'tool.returned',
        {call: refund.call, outcome: 'denied', output},
        device.held(refund.run, {step: refund.step}),
      )
      expect((await device.push(server, [returned])).verdicts).toMatchObject([{status: 'accepted'}])
    }
    const escaped = JSON.stringify(words).slice(1, -1)
    const needle = escaped.split(' ')[0]!
    expect(await tablesWith(database.db, needle)).toEqual(
      expect.arrayContaining(['hf_events', 'hf_approvals', 'hf_audit', 'hf_due']),
    )
    const {body} = await call<ErasureReceipt>(server, lea, '/v1/erasures', {subject: 'lea'})
    expect(layersOf(body)).toContain('reasons in the audit trail')
    const decisions = body.layers.find(({name}) => name === 'decisions on operations of others')
    expect(decisions).toMatchObject({removed: 1, kept: expect.stringContaining('who decided what and when')})
    expect(await tablesWith(database.db, needle)).toEqual([])
    const told = (await logOf(server, ana, device.session)).filter(({kind}) => kind.startsWith('approval.'))
    expect(told.at(-1)).toMatchObject({data: {by: 'lea', note: 'These words were erased.'}})
    if (verdict === 'approve') {
      const [open] = await inbox(server, dan)
      expect(open).toMatchObject({endorsements: [{by: 'lea', note: 'These words were erased.'}]})
      const granted = await decide(server, dan, open!.approval, {verdict, digest: open!.digest, note: 'Agreed.'})
      expect(granted.body).toMatchObject({status: 'granted', note: 'Agreed.'})
    }
  },
)

test.for([true, false])(
  '[RET-2] so do the words that settled an operation of somebody else: happened %s',
  async happened => {
    const words = `Wiesenbocksbart-${happened}`
    const {ana, lea} = people()
    const execute = async () => {
      throw new Error('socket hang up')
    }
    const {reconcile: _, ...definition} = servers.desk.operation({execute, verdictRole: 'lead'}).refundOrder!
    const server = servers.server({operations: {refundOrder: definition}})
    const device = testDevice(ana)
    await device.push(server, [device.open(), ...device.refund({orderId: 'A1', cents: 5}).events])
    await server.idle()
    const [item] = (await call<Inbox>(server, lea, '/v1/approvals')).body.uncertain
    const said = happened ? {happened, receipt: words} : {happened, reason: words}
    await call(server, lea, `/v1/operations/${item!.operation}/verdict`, {digest: item!.digest, ...said})
    expect(await tablesWith(database.db, words)).toEqual(
      expect.arrayContaining(['hf_events', 'hf_operations', 'hf_sessions', 'hf_audit']),
    )
    await call<ErasureReceipt>(server, lea, '/v1/erasures', {subject: 'lea'})
    expect(await tablesWith(database.db, words)).toEqual([])
  },
)

test('[RET-3] a result pushed after the erasure is stored without the words, and is recognised again', async () => {
  const words = 'Kamm-Wachtelweizen'
  const {ana, lea} = people()
  const approval = {role: 'lead', reason: 'large', expiresInMs: 60_000}
  const server = servers.server({operations: servers.desk.operation({authorise: () => ({approval})})})
  const device = testDevice(ana)
  const refund = device.refund({orderId: 'A1', cents: 6000})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const [item] = await inbox(server, lea)
  await decide(server, lea, item!.approval, {verdict: 'reject', digest: item!.digest, note: words})
  await call(server, lea, '/v1/erasures', {subject: 'lea'})
  const returned = device.event(
    'tool.returned',
    {call: refund.call, outcome: 'denied', output: {by: 'lea', note: words}},
    device.held(refund.run, {step: refund.step}),
  )
  expect((await device.push(server, [returned])).verdicts).toMatchObject([{status: 'accepted'}])
  expect((await device.push(server, [returned])).verdicts).toMatchObject([{status: 'duplicate'}])
  expect(await tablesWith(database.db, words)).toEqual([])
  const stored = (await logOf(server, ana, device.session)).find(({kind}) => kind === 'tool.returned')
  expect(stored).toMatchObject({data: {output: {by: 'lea', note: 'These words were erased.'}}})
})
