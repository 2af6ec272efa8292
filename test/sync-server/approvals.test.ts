import {beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import type {SyncServer} from '../../sync-server/index.ts'
import {serverEnvironment as env} from '../../sync-server/index.ts'
import type {Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {decide, deskServers, inbox, logOf, told} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let server: SyncServer
beforeAll(() => {
  server = servers.server({limits: {sweepMs: 20}})
})

let tenants = 0

/** A large refund that waits for a lead. */
async function waiting(seed: {roles?: string[]} = {}) {
  const who: Who = {tenant: `apr-${++tenants}`, subject: 'ana', roles: seed.roles ?? []}
  const lead: Who = {tenant: who.tenant, subject: 'lea', roles: ['lead']}
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 6000})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const [item] = await inbox(server, seed.roles ? {...who} : lead)
  if (!item) throw new Error('nothing in the inbox')
  const approve = {verdict: 'approve' as const, digest: item.digest}
  return {who, lead, device, refund, item, approve, paid: () => servers.desk.payments(refund.operation)}
}

const audited = async (who: Who, approval: string) =>
  (await database.store.audit.about(who.tenant as never, approval)).map(entry => entry.action)

describe('approvals', () => {
  test('[APP-1] a lead sees exactly what would run, approves once, and then it runs', async () => {
    const {who, lead, device, refund, item, approve, paid} = await waiting()
    expect(item).toMatchObject({
      operation: refund.operation,
      requestedBy: 'ana',
      role: 'lead',
      status: 'open',
      shown: {tool: 'refundOrder', version: '1', input: {orderId: 'A1', cents: 6000}},
    })
    expect(await paid()).toEqual([])
    const answer = await decide(server, lead, item.approval, {...approve, note: 'ok'})
    expect(answer).toMatchObject({status: 200, body: {status: 'granted', decidedBy: 'lea', note: 'ok'}})
    await server.idle()
    expect(await paid()).toHaveLength(1)
    expect(await told(server, who, device.session)).toEqual([
      'approval.requested',
      'approval.granted',
      'operation.started',
      'operation.executed',
    ])
    expect(await inbox(server, lead)).toEqual([])
    expect(await inbox(server, lead, 'all')).toMatchObject([{status: 'granted'}])
    expect(await audited(lead, item.approval)).toEqual(['approval.granted'])
  })

  test('[APP-5] a rejection is terminal', async () => {
    const {lead, item, approve, paid} = await waiting()
    const rejected = await decide(server, lead, item.approval, {...approve, verdict: 'reject', note: 'no'})
    expect(rejected.body).toMatchObject({status: 'rejected', note: 'no'})
    const late = await decide(server, lead, item.approval, approve)
    expect(late.status).toBe(409)
    await server.idle()
    expect(await paid()).toEqual([])
  })

  test('[APP-2] a double click decides once, and both clicks and a later retry hear the same yes', async () => {
    const {lead, item, approve, paid} = await waiting()
    const both = await Promise.all([
      decide(server, lead, item.approval, approve),
      decide(server, lead, item.approval, approve),
    ])
    const replay = await decide(server, lead, item.approval, approve)
    expect([...both, replay].map(({status, body}) => [status, body.status, body.decidedBy])).toEqual(
      Array(3).fill([200, 'granted', 'lea']),
    )
    const turned = await decide(server, lead, item.approval, {...approve, verdict: 'reject'})
    expect(turned.body.error).toMatchObject({code: 'refused', details: {status: 'granted', decidedBy: 'lea'}})
    const other = await decide(server, {...lead, subject: 'max'}, item.approval, approve)
    expect(other.status).toBe(409)
    await server.idle()
    expect(await paid()).toHaveLength(1)
    expect((await audited(lead, item.approval)).filter(action => action === 'approval.granted')).toHaveLength(1)
  })

  test('[APP-2] approve and reject at once: exactly one counts and the effect agrees with it', async () => {
    const {lead, item, approve, paid} = await waiting()
    const [yes, no] = await Promise.all([
      decide(server, lead, item.approval, approve),
      decide(server, {...lead, subject: 'max'}, item.approval, {...approve, verdict: 'reject'}),
    ])
    await server.idle()
    expect([yes.status, no.status].sort()).toEqual([200, 409])
    expect(await paid()).toHaveLength(yes.status === 200 ? 1 : 0)
  })

  test('[APP-2] a wrong digest, a wrong role and a wrong tenant are refused, audited, and move nothing', async () => {
    const {who, lead, item, approve, paid} = await waiting()
    const wrongDigest = await decide(server, lead, item.approval, {...approve, digest: '0'.repeat(64)})
    expect([wrongDigest.status, wrongDigest.body.error?.code]).toEqual([409, 'conflict'])
    const requester = await decide(server, who, item.approval, approve)
    expect([requester.status, requester.body.error?.code]).toEqual([403, 'forbidden'])
    const colleague = await decide(server, {...lead, subject: 'tom', roles: ['clerk']}, item.approval, approve)
    const foreign = {...lead, tenant: 'apr-foreign'}
    const stranger = await decide(server, foreign, item.approval, approve)
    const unknown = await decide(server, foreign, env.id('approval'), approve)
    expect(colleague).toEqual(unknown)
    expect(stranger).toEqual(unknown)
    expect(unknown.status).toBe(404)
    expect(await audited(lead, item.approval)).toEqual(Array(3).fill('approval.decision_refused'))
    expect(await audited(foreign, item.approval)).toEqual(['approval.decision_refused'])
    await server.idle()
    expect(await paid()).toEqual([])
    expect((await decide(server, lead, item.approval, approve)).status).toBe(200)
  })

  test('[APP-1] the one who asked may decide only as a holder of the role', async () => {
    const {who, item, approve, paid} = await waiting({roles: ['lead']})
    expect((await decide(server, who, item.approval, approve)).status).toBe(200)
    await server.idle()
    expect(await paid()).toHaveLength(1)
  })

  test('[APP-2] a decision after the expiry is refused and the expiry is written down', async () => {
    const {who, lead, device, item, approve, paid} = await waiting()
    servers.environment.advance(60_001)
    const late = await decide(server, lead, item.approval, approve)
    expect(late.body.error).toMatchObject({code: 'refused', details: {status: 'expired'}})
    expect(await told(server, who, device.session)).toEqual(['approval.requested', 'approval.expired'])
    await server.idle()
    expect(await paid()).toEqual([])
  })

  test('[APP-1] an approval that nobody decides expires by itself', async () => {
    const {who, device} = await waiting()
    const watching = servers.server({limits: {sweepMs: 10}})
    servers.environment.advance(60_001)
    await watching.start()
    await expect.poll(() => told(server, who, device.session)).toContain('approval.expired')
    await watching.close()
  })

  test('[RUN-4] a correction voids the waiting operation; the late approval is refused and nothing is paid', async () => {
    const {who, lead, device, refund, item, approve, paid} = await waiting()
    const correction = device.post('No, exchange it instead.')
    await device.push(server, [correction])
    const late = await decide(server, lead, item.approval, approve)
    expect(late.body.error).toMatchObject({
      code: 'refused',
      message: 'This approval is voided; nothing was changed. A newer instruction arrived.',
      details: {status: 'voided', reason: 'A newer instruction arrived.'},
    })
    await server.idle()
    expect(await paid()).toEqual([])
    const events = await logOf(server, who, device.session)
    const at = events.findIndex(event => event.id === correction.id)
    expect(events[at + 1]).toMatchObject({
      kind: 'operation.voided',
      data: {operation: refund.operation, because: correction.id},
      causes: [correction.id],
    })
    expect(await inbox(server, lead, 'all')).toMatchObject([{status: 'voided'}])
  })

  test('[RUN-4] approval and correction at once end consistently in either order', async () => {
    for (let round = 0; round < 8; round++) {
      const {who, lead, device, item, approve, paid} = await waiting()
      const approving = () => decide(server, lead, item.approval, approve)
      const correcting = () => device.push(server, [device.post('Stop.')])
      const both = round % 2 === 0 ? [approving(), correcting()] : [correcting(), approving()]
      await Promise.all(both)
      await server.idle()
      const kinds = await told(server, who, device.session)
      const money = (await paid()).length
      expect(money).toBe(kinds.includes('operation.executed') ? 1 : 0)
      expect(kinds.includes('operation.voided')).toBe(money === 0)
    }
  })

  test('[RUN-4] a correction that lands while the facts are read again stops the call; the used approval stays used', async () => {
    const {who, lead, device, item, approve, paid} = await waiting()
    const recheck = async () => {
      await device.push(server, [device.post('Stop.')])
      return {ok: true as const}
    }
    const slow = servers.server({operations: servers.desk.operation({recheck})})
    expect((await decide(slow, lead, item.approval, approve)).status).toBe(200)
    await slow.idle()
    expect(await paid()).toEqual([])
    expect((await told(server, who, device.session)).at(-1)).toBe('operation.voided')
    expect(await inbox(server, lead, 'all')).toMatchObject([{status: 'granted', decidedBy: 'lea'}])
  })

  test('[RUN-7] cancelling the run voids what waits', async () => {
    const {lead, device, refund, item, approve, paid} = await waiting()
    await device.push(server, [device.event('run.cancelled', {}, {run: refund.run})])
    expect((await decide(server, lead, item.approval, approve)).status).toBe(409)
    await server.idle()
    expect(await paid()).toEqual([])
  })

  test('[APP-3] a contract that changed after the approval is not what was approved', async () => {
    const {who, lead, device, item, approve, paid} = await waiting()
    const {refundOrder} = servers.desk.operation()
    const changed = {
      ...refundOrder,
      tool: {...refundOrder.tool, input: z.object({cents: z.number()})},
    }
    const deployed = servers.server({operations: {refundOrder: changed}})
    expect((await decide(deployed, lead, item.approval, approve)).status).toBe(200)
    await deployed.idle()
    expect(await paid()).toEqual([])
    expect((await logOf(server, who, device.session)).at(-1)?.data).toMatchObject({code: 'stale'})
  })

  test('[APP-6] a pending approval is in the inbox of a restarted server', async () => {
    const {lead, item, approve, paid} = await waiting()
    const restarted = servers.server()
    await restarted.start()
    expect(await inbox(restarted, lead)).toMatchObject([{approval: item.approval}])
    await decide(restarted, lead, item.approval, approve)
    await restarted.idle()
    await restarted.close()
    expect(await paid()).toHaveLength(1)
  })
})
