import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'
import {resolve} from 'node:path'
import {createInterface} from 'node:readline'
import {afterAll, beforeAll, expect, test} from 'vitest'
import type {OperationId} from '../../runtime/protocol/ids.ts'
import {openPgStore, type Store} from '../../sync-server/index.ts'
import {buildModule} from '../support/build-module.ts'
import {deepStride} from '../support/deep.ts'
import {realPostgres} from '../support/real-postgres.ts'
import type {Served} from '../sync-server/support/caller.ts'
import {told} from '../sync-server/support/desk-server.ts'
import {type TestDevice, testDevice} from '../sync-server/support/device.ts'
import type {Doom, Orders} from './fixture/payment-server.ts'
import {type Behaviour, openPaymentService} from './payment-service.ts'

const postgres = realPostgres()
let store: Store
let bank: Awaited<ReturnType<typeof openPaymentService>>
let built: Awaited<ReturnType<typeof buildModule>>
beforeAll(async () => {
  store = await openPgStore(postgres().sql)
  bank = await openPaymentService()
  built = await buildModule(resolve('test/recovery/fixture/payment-server.ts'))
})
afterAll(async () => {
  await bank?.close()
  await built?.remove()
})

type Point = {
  name: string
  doom: Omit<Doom, 'tenant'>
  /** Kills from outside, as soon as the service has come so far. */
  service?: (kill: () => void) => Behaviour
  /** Kills from outside after so many milliseconds, wherever the process is then. */
  afterMs?: (round: number) => number
  ends: 'executed' | 'failed' | 'either'
  survives?: boolean
}

const silent = (): Behaviour => ({answers: false})
const points: Point[] = [
  {name: 'before the intent commits', doom: {dies: {transaction: 3, when: 'before'}}, ends: 'executed'},
  {name: 'after the intent commits', doom: {dies: {transaction: 3, when: 'after'}}, ends: 'failed'},
  {name: 'before the call is sent', doom: {call: 'dies before it is sent'}, ends: 'failed'},
  {name: 'when the service has the call', doom: {}, service: kill => ({beforeActing: kill}), ends: 'executed'},
  {name: 'when the service has acted', doom: {}, service: kill => ({afterActing: kill}), ends: 'executed'},
  {name: 'after the answer, before the receipt', doom: {call: 'dies after the answer'}, ends: 'executed'},
  {name: 'before the receipt commits', doom: {dies: {transaction: 4, when: 'before'}}, ends: 'executed'},
  {name: 'after the receipt commits', doom: {dies: {transaction: 4, when: 'after'}}, ends: 'executed'},
  {name: 'at any moment', doom: {}, afterMs: round => (round * 37) % 120, ends: 'either'},
  // The service acts and never answers, and its caller has given up.
  {name: 'nowhere, but no answer came', doom: {impatient: true}, service: silent, ends: 'executed', survives: true},
  ...(['before', 'after'] as const).flatMap(when => [
    {
      name: `${when} the doubt commits, when no answer came`,
      doom: {impatient: true, dies: {transaction: 4, when}},
      service: silent,
      ends: 'executed' as const,
    },
    {
      name: `${when} what reconciling found commits, when no answer came`,
      doom: {impatient: true, dies: {transaction: 5, when}},
      service: silent,
      ends: 'executed' as const,
    },
  ]),
]

type Process = {child: ChildProcess; served: Served; ended: Promise<unknown>}

async function start(doom: Doom | null): Promise<Process> {
  const orders: Orders = {databaseUrl: postgres().url, bankUrl: bank.url, doom}
  const child = spawn(process.execPath, [built.file, JSON.stringify(orders)], {stdio: ['ignore', 'pipe', 'inherit']})
  const ended = once(child, 'exit')
  const [line] = await Promise.race([once(createInterface({input: child.stdout!}), 'line'), ended.then(() => ['{}'])])
  const {url} = JSON.parse(line) as {url?: string}
  if (!url) throw new Error('The server ended before it listened.')
  return {child, served: {app: {request: (path, init) => fetch(url + path, init)}}, ended}
}

type Death = {
  point: Point
  round: number
  device: TestDevice
  refund: ReturnType<TestDevice['refund']>
  events: unknown[]
}

const tenantOf = (point: Point, round: number) => `sigkill-${points.indexOf(point)}-${round}`

/** One refund by a process that dies at the point; what its caller still hears of it depends on when. */
async function killed(point: Point, round: number, {child, served, ended}: Process): Promise<Death> {
  const tenant = tenantOf(point, round)
  const device = testDevice({tenant, subject: 'ana'})
  const refund = device.refund({orderId: 'A1', cents: 100 + round})
  const kill = () => void child.kill('SIGKILL')
  if (point.service) bank.behaviours.set(refund.operation, point.service(kill))
  const events = [device.open(), ...refund.events]
  const pushed = device.push(served, events).catch(() => null)
  if (point.afterMs) setTimeout(kill, point.afterMs(round))
  if (point.survives) await settled(tenant, refund.operation).then(kill)
  expect(await ended, `round ${round}, ${point.name}`).toEqual([null, 'SIGKILL'])
  await pushed
  return {point, round, device, refund, events}
}

const ledger = (tenant: string, operation: OperationId) => store.ledger.operation({tenant: tenant as never, operation})

async function settled(tenant: string, operation: OperationId) {
  const status = async () => (await ledger(tenant, operation))?.status
  await expect.poll(status, {interval: 10, timeout: 30_000}).toMatch(/^(executed|failed)$/)
}

/** Each round kills once at every point. */
const rounds = deepStride === null ? 1 : Math.ceil(100 / deepStride)

test(`[OP-3] [OP-4] a server process killed by SIGKILL at each of ${points.length} points around a payment doubles none, loses none and leaves none uncertain`, async () => {
  const counted = {kills: 0, executed: 0, failed: 0}
  let death: Death | null = null
  // Whoever takes up what the last one left is itself the next to die.
  for (let round = 0; round < rounds; round++) {
    for (const point of points) {
      const next = await start({...point.doom, tenant: tenantOf(point, round)})
      if (death) counted[await endOf(death, next.served)] += 1
      death = await killed(point, round, next)
      counted.kills += 1
    }
  }
  const last = await start(null)
  if (death) counted[await endOf(death, last.served)] += 1
  last.child.kill('SIGKILL')
  await last.ended
  expect(counted.executed + counted.failed).toBe(counted.kills)
  expect(bank.effects).toBe(counted.executed)
  console.log(`${JSON.stringify(counted)} at ${points.length} points`)
}, 7_200_000)

/** The device says again what it may not have been heard to say; the next process takes up whatever the dead one left. */
async function endOf({point, round, device, refund, events}: Death, next: Served): Promise<'executed' | 'failed'> {
  const where = `round ${round}, ${point.name}`
  const {who, session} = device
  await device.push(next, events)
  await settled(who.tenant, refund.operation)
  const row = await ledger(who.tenant, refund.operation)
  const payment = bank.payments.get(refund.operation)
  if (point.ends !== 'either') expect(row?.status, where).toBe(point.ends)
  expect(payment !== undefined, where).toBe(row?.status === 'executed')
  if (payment) expect(row?.outcome, where).toEqual(payment)
  expect(bank.requests.get(refund.operation) ?? 0, where).toBeLessThanOrEqual(1)
  const kinds = await told(next, who, session)
  expect(
    kinds.filter(kind => kind === 'operation.started'),
    where,
  ).toHaveLength(1)
  return row?.status === 'executed' ? 'executed' : 'failed'
}
