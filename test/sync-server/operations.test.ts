import {describe, expect, test, vi} from 'vitest'
import * as z from 'zod'
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

/** Work that is due is done again and again, until none of it is postponed any more. */
async function untilSettled(server: SyncServer, rounds = 12) {
  for (let round = 0; round < rounds; round++) {
    servers.environment.advance(700_000)
    await server.sweep()
    await server.idle()
  }
}

describe('what the code of the application fails at', () => {
  const broken = () => {
    throw new Error('invalid byte sequence for encoding "UTF8": 0x00')
  }
  test.each<[string, object, string[]]>([
    ['authorise', {authorise: broken}, ['operation.refused']],
    ['recheck', {recheck: broken}, ['operation.authorised', 'operation.refused']],
    [
      'a role that no database can hold',
      {authorise: () => ({approval: {role: 'a\0b', reason: 'x', expiresInMs: 9e9}})},
      ['operation.refused'],
    ],
  ])('[OP-2] %s is tried a bounded number of times, then refused in words for the model', async (_, over, kinds) => {
    const onFault = vi.fn()
    const operations = servers.desk.operation(over)
    const {server, device, refund, told} = await propose({orderId: 'A\0', cents: 500}, {}, {operations, onFault})
    await untilSettled(server)
    expect(await told()).toEqual(kinds)
    const {reason} = (await lastData(server, device)) as {reason: string}
    expect(reason).toMatch(/its check failed \d+ times. Nothing was done./)
    const calls = onFault.mock.calls.length
    await untilSettled(server, 3)
    expect(onFault.mock.calls.length).toBe(calls)
    expect(await servers.desk.payments(refund.operation)).toEqual([])
  })

  test('[OP-2] a check that fails a few times and then answers is no refusal', async () => {
    let left = 3
    const authorise = () => (left-- > 0 ? broken() : {allow: 'Now.'})
    const operations = servers.desk.operation({authorise})
    const {server, told} = await propose({orderId: 'A1', cents: 500}, {}, {operations, onFault: () => {}})
    await untilSettled(server, 5)
    expect((await told()).at(-1)).toBe('operation.executed')
  })

  test('[OP-4] what nobody can tell is asked about a bounded number of times, and stays uncertain', async () => {
    const reconcile = vi.fn(broken)
    const operations = servers.desk.operation({execute: broken, reconcile})
    const {server, told} = await propose({orderId: 'A1', cents: 500}, {}, {operations, onFault: () => {}})
    await untilSettled(server, 160)
    const asked = reconcile.mock.calls.length
    expect(asked).toBeGreaterThan(100)
    await untilSettled(server, 3)
    expect(reconcile.mock.calls.length).toBe(asked)
    expect((await told()).at(-1)).toBe('operation.uncertain')
  })
})

describe('a receipt', () => {
  const self: {[key: string]: unknown} = {paid: true}
  self.self = self
  const nested = (levels: number): unknown => (levels === 0 ? 'bottom' : [nested(levels - 1)])
  test.each<[string, unknown, unknown]>([
    ['an absent member', {id: 7, note: undefined}, {id: 7}],
    [
      'a date, a bigint and no number',
      {at: new Date(0), big: 2n ** 70n, not: Number.NaN},
      {at: '1970-01-01T00:00:00.000Z', big: '1180591620717411303424', not: 'NaN'},
    ],
    [
      'a class of its own',
      {
        money: new (class Money {
          cents = 5
        })(),
      },
      {money: {cents: 5}},
    ],
    ['itself', self, {paid: true, self: expect.anything()}],
    ['an id that JSON would round', {id: 2 ** 60}, {id: '1152921504606847000'}],
    ['−0 and 1e308', [-0, 1e308], [0, 1e308]],
    ['64 levels', nested(64), nested(64)],
    ['NUL and a lone surrogate', {text: 'a\0\ud800'}, {text: 'a\0\ud800'}],
  ])('[OP-3] with %s is kept', async (_, receipt, kept) => {
    const operations = servers.desk.operation({execute: async () => receipt as Json})
    const {server, device, told} = await propose({orderId: 'A1', cents: 500}, {}, {operations})
    expect((await told()).at(-1)).toBe('operation.executed')
    expect(((await lastData(server, device)) as {receipt: Json}).receipt).toEqual(kept)
  })

  test('[LOG-5] an input of 64 levels is proposed, decided on and executed', async () => {
    const definition = {...servers.desk.operation().refundOrder}
    const operations = {
      refundOrder: {
        ...definition,
        tool: {...definition.tool, input: z.any()},
        authorise: () => ({allow: 'x'}),
        execute: async ({input}: {input: unknown}) => input as Json,
        recheck: () => ({ok: true as const}),
      },
    }
    const {told} = await propose(nested(64) as Json, {}, {operations} as never)
    expect((await told()).at(-1)).toBe('operation.executed')
  })
})

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
    expect(await lastData(server, device)).toMatchObject({receipt: expect.stringMatching(/^20\d\d-/)})
  })

  test('an operation under another name than its tool’s is a misconfiguration, said at once', () => {
    expect(() => servers.server({operations: {refund: servers.desk.operation().refundOrder}})).toThrow(
      /expected a tool of this name/,
    )
  })
})
