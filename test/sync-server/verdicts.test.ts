import {describe, expect, test} from 'vitest'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import type {Inbox, Settled, Settlement} from '../../runtime/protocol/wire.ts'
import type {SyncServer} from '../../sync-server/index.ts'
import {createGate} from '../support/gate.ts'
import {call, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers, logOf, told} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let tenants = 0

/** A refund whose answer was lost at a bank that cannot be asked. */
async function doubtful(over: Parameters<typeof servers.desk.operation>[0] = {}) {
  const who: Who = {tenant: `verdict-${++tenants}`, subject: 'ana'}
  const lead: Who = {tenant: who.tenant, subject: 'lea', roles: ['lead']}
  const execute = async () => {
    throw new Error('socket hang up')
  }
  const {reconcile: _, ...definition} = servers.desk.operation({execute, verdictRole: 'lead', ...over}).refundOrder!
  const operations = {refundOrder: {...definition, ...(over.reconcile && {reconcile: over.reconcile as never})}}
  const server = servers.server({operations})
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 5})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const [item] = (await call<Inbox>(server, lead, '/v1/approvals')).body.uncertain
  if (!item) throw new Error('nothing is uncertain')
  return {who, lead, server, device, refund, item}
}

const settle = (server: SyncServer, who: Who, operation: string, said: Settlement) =>
  call<Settled & {error?: ErrorBody}>(server, who, `/v1/operations/${operation}/verdict`, said)
const audited = async (who: Who, about: string) =>
  (await database.store.audit.about(who.tenant as never, about)).map(({action}) => action)

describe('an outcome that only a person can tell', () => {
  test('[OP-4] a lead sees exactly what ran and why it is uncertain, says that it happened, and the run has a receipt', async () => {
    const {who, lead, server, device, refund, item} = await doubtful()
    expect(item).toMatchObject({
      operation: refund.operation,
      requestedBy: 'ana',
      role: 'lead',
      reason: 'socket hang up',
      shown: {tool: 'refundOrder', version: '1', input: {orderId: 'A1', cents: 5}},
    })
    const said: Settlement = {happened: true, digest: item.digest, receipt: 'Bank statement 7 of 30 November'}
    expect(await settle(server, lead, item.operation, said)).toMatchObject({status: 200, body: {status: 'executed'}})
    const last = (await logOf(server, who, device.session)).at(-1)
    expect(last).toMatchObject({
      kind: 'operation.executed',
      actor: {type: 'service', name: 'operations'},
      data: {settledBy: 'lea', receipt: {receipt: said.receipt, saidBy: 'lea'}},
    })
    expect((await call<Inbox>(server, lead, '/v1/approvals')).body.uncertain).toEqual([])
    expect(await audited(lead, item.operation)).toEqual(['operation.settled'])
  })

  test('[OP-4] "it did not happen" ends it as failed, and nothing tries it again', async () => {
    const {who, lead, server, device, refund, item} = await doubtful()
    const said: Settlement = {happened: false, digest: item.digest, reason: 'Not on any statement'}
    expect((await settle(server, lead, item.operation, said)).body.status).toBe('failed')
    await server.start()
    await server.idle()
    await server.close()
    expect(await told(server, who, device.session)).toEqual([
      'operation.authorised',
      'operation.started',
      'operation.uncertain',
      'operation.failed',
    ])
    expect(await servers.desk.payments(refund.operation)).toEqual([])
  })

  test('[OP-4] the bank and a person at once: exactly one verdict counts, the other is refused and audited', async () => {
    const gate = createGate()
    let awake = false
    const reconcile = async () => {
      if (!awake) return {unknown: 'The bank is asleep.'}
      await gate.pass()
      return {executed: {bank: 'yes'}}
    }
    const {who, lead, server, device, item} = await doubtful({reconcile})
    awake = true
    servers.environment.advance(60_000)
    await server.start()
    await gate.reached(1)
    const said: Settlement = {happened: true, digest: item.digest, receipt: 'Seen'}
    const verdict = settle(server, lead, item.operation, said)
    gate.open()
    const {status} = await verdict
    await server.idle()
    await server.close()
    const kinds = await told(server, who, device.session)
    expect(kinds.filter(kind => kind === 'operation.executed')).toHaveLength(1)
    expect(await audited(lead, item.operation)).toEqual([
      status === 200 ? 'operation.settled' : 'operation.verdict_refused',
    ])
  })

  test('[OP-4] another role, tenant or digest, and a second verdict are refused, audited, and move nothing', async () => {
    const {who, lead, server, device, item} = await doubtful()
    const said: Settlement = {happened: true, digest: item.digest, receipt: 'Seen'}
    const foreign = {...lead, tenant: 'verdict-foreign'}
    expect((await settle(server, who, item.operation, said)).status).toBe(404)
    expect((await settle(server, foreign, item.operation, said)).status).toBe(404)
    const other = await settle(server, lead, item.operation, {...said, digest: '0'.repeat(64)})
    expect([other.status, other.body.error?.code]).toEqual([409, 'conflict'])
    expect((await told(server, who, device.session)).at(-1)).toBe('operation.uncertain')
    expect((await settle(server, lead, item.operation, said)).status).toBe(200)
    const again = await settle(server, lead, item.operation, {happened: false, digest: item.digest, reason: 'no'})
    expect(again.body.error).toMatchObject({code: 'refused', details: {status: 'executed'}})
    expect(await audited(lead, item.operation)).toEqual([
      'operation.verdict_refused',
      'operation.verdict_refused',
      'operation.settled',
      'operation.verdict_refused',
    ])
    expect(await audited(foreign, item.operation)).toEqual(['operation.verdict_refused'])
  })

  test('a tool that neither a system nor a person can answer for is a misconfiguration, said at once', () => {
    const {reconcile: _, ...definition} = servers.desk.operation().refundOrder!
    expect(() => servers.server({operations: {refundOrder: definition}})).toThrow(/a reconcile or a verdictRole/)
  })
})
