import {afterAll, beforeAll, expect, test} from 'vitest'
import type {OperationRequest} from '../../sync-server/index.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {deskServers, told} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'
import {mortalStore} from '../sync-server/support/mortal-store.ts'
import {type Behaviour, openPaymentService} from './payment-service.ts'

const database = testDatabase()
const servers = deskServers(database)
let bank: Awaited<ReturnType<typeof openPaymentService>>
beforeAll(async () => {
  bank = await openPaymentService()
})
afterAll(() => bank?.close())

type Refund = OperationRequest<{orderId: string; cents: number}>
type Mortal = ReturnType<typeof mortalStore>
type Point = {
  name: string
  /** Of the transactions 1 admitted, 2 authorised, 3 started (the intent), 4 executed (the receipt). */
  dies?: Parameters<typeof mortalStore>[1]
  service?: (does: {kill(): void; giveUp(): void}) => Behaviour
  call?: 'dies before it is sent' | 'dies after the answer'
  ends: 'executed' | 'failed'
}

const points: Point[] = [
  {name: 'before the intent commits', dies: {transaction: 3, when: 'before'}, ends: 'executed'},
  {name: 'after the intent commits', dies: {transaction: 3, when: 'after'}, ends: 'failed'},
  {name: 'before the call is sent', call: 'dies before it is sent', ends: 'failed'},
  {name: 'when the service has the call', service: ({kill}) => ({beforeActing: kill}), ends: 'executed'},
  {name: 'when the service has acted', service: ({kill}) => ({afterActing: kill}), ends: 'executed'},
  {name: 'after the answer, before the receipt', call: 'dies after the answer', ends: 'executed'},
  {name: 'before the receipt commits', dies: {transaction: 4, when: 'before'}, ends: 'executed'},
  {name: 'after the receipt commits', dies: {transaction: 4, when: 'after'}, ends: 'executed'},
  {
    name: 'nowhere, but the service acts and never answers, until the caller gives up',
    service: ({giveUp}) => ({afterActing: giveUp, answers: false}),
    ends: 'executed',
  },
]
const rounds = 100
const never = {transaction: 99, when: 'before'} as const

function operations(mortal: Mortal | null, point: Point | null) {
  const kill = () => {
    try {
      mortal?.kill()
    } catch {
      // What it throws ends the code that it is called from; here only the process dies.
    }
  }
  return servers.desk.operation({
    deadlineMs: 60_000,
    execute: async ({operation, input, signal}: Refund & {signal: AbortSignal}) => {
      const patience = new AbortController()
      const giveUp = () => patience.abort()
      if (point?.service) bank.behaviours.set(operation, point.service({kill, giveUp}))
      if (point?.call === 'dies before it is sent') mortal?.kill()
      const receipt = await bank.execute(operation, input.cents, AbortSignal.any([signal, patience.signal]))
      if (point?.call === 'dies after the answer') mortal?.kill()
      return receipt
    },
    reconcile: async ({operation}) => {
      const payment = await bank.findOrClose(operation)
      return payment ? {executed: payment} : {notExecuted: 'The service has no such payment and never will.'}
    },
  })
}

/** One refund on a server of its own that dies at the point, as far as it comes. */
async function killed(point: Point, round: number) {
  const who = {tenant: `paid-${point.name}-${round}`, subject: 'ana'}
  const mortal = mortalStore(database.store, point.dies ?? never)
  const doomed = servers.server({store: mortal.store, operations: operations(mortal, point), onFault: () => {}})
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 100 + round})
  await device.push(doomed, [device.open(), ...refund.events])
  await doomed.idle()
  return {point, who, device, refund, died: mortal.isDead()}
}

test(`[OP-3] [OP-4] killed ${rounds} times at each of ${points.length} points around the call, no payment is doubled, none lost, none left uncertain`, async () => {
  const next = servers.server({operations: operations(null, null), limits: {sweepMs: 1_000_000}})
  for (let round = 0; round < rounds; round++) {
    const all = await Promise.all(points.map(point => killed(point, round)))
    // Another process opens the same database.
    const restarted = servers.server({operations: operations(null, null), limits: {sweepMs: 1_000_000}})
    await restarted.start()
    await restarted.idle()
    await restarted.close()
    for (const {point, who, device, refund, died} of all) {
      const where = `round ${round}, ${point.name}`
      expect(died, where).toBe(!point.name.startsWith('nowhere'))
      const row = await database.store.ledger.operation({tenant: who.tenant as never, operation: refund.operation})
      const payment = bank.payments.get(refund.operation)
      expect(row?.status, where).toBe(point.ends)
      expect(payment !== undefined, where).toBe(point.ends === 'executed')
      if (payment) expect(row?.outcome, where).toEqual(payment)
      expect(bank.requests.get(refund.operation) ?? 0, where).toBeLessThanOrEqual(1)
      const kinds = await told(next, who, device.session)
      expect(
        kinds.filter(kind => kind === 'operation.started'),
        where,
      ).toHaveLength(1)
    }
  }
  expect(bank.effects).toBe(rounds * points.filter(({ends}) => ends === 'executed').length)
}, 900_000)
