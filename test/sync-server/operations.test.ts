import {describe, expect, test} from 'vitest'
import type {Json} from '../../runtime/protocol/json.ts'
import {OperationFailed, type SyncServer, type SyncServerOptions} from '../../sync-server/index.ts'
import type {Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers, logOf, told} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let tenants = 0
const someone = (): Who => ({tenant: `op-${++tenants}`, subject: 'ana'})

type Options = Parameters<ReturnType<typeof testDevice>['refund']>[1]
async function propose(input: Json, options: Options = {}, serverOptions: Partial<SyncServerOptions> = {}) {
  const server = servers.server(serverOptions)
  const device = testDevice(someone())
  const refund = device.refund(input, options)
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  return {server, device, refund, told: () => told(server, device.who, device.session)}
}

async function lastData(server: SyncServer, device: ReturnType<typeof testDevice>) {
  return (await logOf(server, device.who, device.session)).at(-1)?.data
}

describe('operations', () => {
  test('[OP-2] a small refund is authorised and executed by the server, its receipt in log and ledger', async () => {
    const {server, device, refund, told} = await propose({orderId: 'A1', cents: 500})
    expect(await told()).toEqual(['operation.authorised', 'operation.started', 'operation.executed'])
    expect(await servers.desk.payments(refund.operation)).toHaveLength(1)
    expect(await lastData(server, device)).toMatchObject({receipt: {payment: refund.operation, cents: 500}})
    const ref = {tenant: device.who.tenant as never, operation: refund.operation}
    const row = await database.store.ledger.operation(ref)
    expect(row).toMatchObject({status: 'executed', requestedBy: 'ana', outcome: {cents: 500}})
  })

  test('[OP-3] the proposal delivered again, after a restart too, pays once', async () => {
    const {server, device, refund} = await propose({orderId: 'A1', cents: 500})
    await device.push(server, refund.events)
    await server.idle()
    const next = servers.server()
    await next.start()
    await device.push(next, refund.events)
    await next.idle()
    await next.close()
    expect(await servers.desk.payments(refund.operation)).toHaveLength(1)
  })

  test.each<[string, Json, Options, object]>([
    ['an unknown tool', {}, {tool: 'emptyTheSafe'}, {code: 'unknown_tool'}],
    ['a tool named like an object method', {}, {tool: 'constructor'}, {code: 'unknown_tool'}],
    ['another version', {orderId: 'A1', cents: 1}, {version: '2'}, {code: 'version_mismatch'}],
    [
      'invalid input',
      {orderId: 'A1', cents: -1},
      {},
      {code: 'invalid_input', reason: expect.stringContaining('input.cents')},
    ],
    ['half a character', {orderId: '\ud800', cents: 1}, {}, {code: 'invalid_input'}],
    ['what the desk denies', {orderId: 'A1', cents: 100_001}, {}, {code: 'not_authorised'}],
  ])('[OP-7] %s is refused before anything is asked of anybody', async (_, input, options, refusal) => {
    const {server, device, refund, told} = await propose(input, options)
    expect(await told()).toEqual(['operation.refused'])
    expect(await lastData(server, device)).toMatchObject({operation: refund.operation, ...refusal})
    expect(await servers.desk.payments(refund.operation)).toEqual([])
  })

  test('[OP-5] a fact that has moved since the proposal makes the operation stale, nothing is paid', async () => {
    const who = someone()
    servers.desk.setOrder(who.tenant, 'A1', 'shipped', 'v2')
    const server = servers.server()
    const device = testDevice(who)
    const stale = device.refund({orderId: 'A1', cents: 5}, {basis: {'order/A1': 'v1'}})
    await device.push(server, [device.open(), ...stale.events])
    await server.idle()
    expect(await told(server, who, device.session)).toEqual(['operation.authorised', 'operation.refused'])
    expect(await lastData(server, device)).toMatchObject({code: 'stale', reason: 'order/A1 has changed.'})
    expect(await servers.desk.payments(stale.operation)).toEqual([])
  })

  test('[OP-5] a fact that is as it was lets the operation run', async () => {
    const who = someone()
    servers.desk.setOrder(who.tenant, 'A1', 'shipped', 'v1')
    const server = servers.server()
    const device = testDevice(who)
    const refund = device.refund({orderId: 'A1', cents: 5}, {basis: {'order/A1': 'v1'}})
    await device.push(server, [device.open(), ...refund.events])
    await server.idle()
    expect(await servers.desk.payments(refund.operation)).toHaveLength(1)
  })

  test('[OP-3] a definite failure is final', async () => {
    const operations = servers.desk.operation({
      execute: async () => {
        throw new OperationFailed('The card is closed.')
      },
    })
    const {server, device, told} = await propose({orderId: 'A1', cents: 5}, {}, {operations})
    expect(await told()).toEqual(['operation.authorised', 'operation.started', 'operation.failed'])
    expect(await lastData(server, device)).toMatchObject({reason: 'The card is closed.'})
  })

  test('[OP-4] an effect whose answer was lost is uncertain, then reconciled by its id, and never repeated', async () => {
    const operations = servers.desk.operation({
      execute: async ({operation, input}) => {
        await servers.desk.pay(operation, input.cents)
        throw new Error('socket hang up')
      },
    })
    const {refund, told} = await propose({orderId: 'A1', cents: 5}, {}, {operations})
    expect(await told()).toEqual([
      'operation.authorised',
      'operation.started',
      'operation.uncertain',
      'operation.executed',
    ])
    expect(await servers.desk.payments(refund.operation)).toHaveLength(1)
  })

  test('[OP-4] a call past its deadline is aborted and uncertain; the bank says that nothing happened', async () => {
    let aborted = false
    const operations = servers.desk.operation({
      deadlineMs: 50,
      execute: ({signal}) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            aborted = true
          })
        }),
    })
    const {told} = await propose({orderId: 'A1', cents: 5}, {}, {operations})
    expect(await told()).toEqual([
      'operation.authorised',
      'operation.started',
      'operation.uncertain',
      'operation.failed',
    ])
    expect(aborted).toBe(true)
  })

  test('[OP-4] an unknown answer leaves it uncertain until a later look knows', async () => {
    const operations = servers.desk.operation({
      execute: async () => {
        throw new Error('socket hang up')
      },
      reconcile: async () => ({unknown: 'The bank is asleep.'}),
    })
    const {server, device, told} = await propose({orderId: 'A1', cents: 5}, {}, {operations})
    expect((await told()).at(-1)).toBe('operation.uncertain')
    await server.close()
    const awake = servers.server()
    await awake.start()
    await awake.idle()
    await awake.close()
    expect(await lastData(awake, device)).toMatchObject({reason: 'The bank has none.'})
  })

  test('[OP-2] a fault in the application’s own code leaves the proposal for a later look', async () => {
    const faults: unknown[] = []
    let broken = true
    const operations = servers.desk.operation({
      authorise: () => {
        if (broken) throw new Error('database is down')
        return {allow: 'fine'}
      },
    })
    const options = {operations, onFault: (error: unknown) => faults.push(error), limits: {sweepMs: 10}}
    const {server, refund} = await propose({orderId: 'A1', cents: 5}, {}, options)
    expect(faults).toHaveLength(1)
    broken = false
    servers.environment.advance(10_000)
    await server.start()
    await expect.poll(() => servers.desk.payments(refund.operation)).toHaveLength(1)
    await server.close()
  })

  test('[OP-3] a receipt that is no JSON does not turn an executed effect into an unknown one', async () => {
    const operations = servers.desk.operation({execute: async () => new Date() as never})
    const {server, device, told} = await propose({orderId: 'A1', cents: 5}, {}, {operations})
    expect((await told()).at(-1)).toBe('operation.executed')
    expect(await lastData(server, device)).toMatchObject({receipt: {note: expect.any(String)}})
  })

  test('an operation under another name than its tool’s is a misconfiguration, said at once', () => {
    expect(() => servers.server({operations: {refund: servers.desk.operation().refundOrder}})).toThrow(
      /expected a tool of this name/,
    )
  })
})
