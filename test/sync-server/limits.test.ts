import {describe, expect, test} from 'vitest'
import type {OperationLimit, SyncServer} from '../../sync-server/index.ts'
import {createGate} from '../support/gate.ts'
import type {Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers, logOf, told} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let tenants = 0
const newTenant = () => `limit-${++tenants}`

const hour = 3_600_000
const limited = (limits: OperationLimit[], over: Parameters<typeof servers.desk.operation>[0] = {}) =>
  servers.desk.operation({
    limits,
    amount: ({cents}) => cents,
    amountWords: cents => `${cents} cents`,
    authorise: () => ({allow: 'fine'}),
    ...over,
  })

/** A refund of its own session, up to where the server leaves it. */
async function refund(server: SyncServer, who: Who, cents: number) {
  const device = testDevice(who)
  const one = device.refund({orderId: 'A1', cents})
  await device.push(server, [device.open(), ...one.events])
  return {...one, device, told: () => told(server, who, device.session)}
}

async function reasonOf(server: SyncServer, {device}: Awaited<ReturnType<typeof refund>>) {
  return (await logOf(server, device.who, device.session)).at(-1)?.data
}

const paid = async (operations: {operation: string}[]) =>
  (await Promise.all(operations.map(({operation}) => servers.desk.payments(operation)))).flat()

describe('limits of a tool', () => {
  test('[OP-3] two processes that start at once never exceed a rate together; the rest is told why', async () => {
    const who = {tenant: newTenant(), subject: 'ana'}
    const operations = limited([{kind: 'rate', starts: 3, inMs: hour}])
    const both = [servers.server({operations}), servers.server({operations})]
    const made = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(n => refund(both[n % 2]!, who, 5)))
    for (const server of both) await server.idle()
    expect(await paid(made)).toHaveLength(3)
    const last = await Promise.all(made.map(async one => [(await one.told()).at(-1), await reasonOf(both[0]!, one)]))
    const refused = last.filter(([kind]) => kind === 'operation.refused')
    expect(refused).toHaveLength(5)
    expect(refused[0]?.[1]).toMatchObject({
      code: 'over_limit',
      reason: 'Over the limit of "refundOrder": at most 3 in one hour, 3 have been made. Nothing was done.',
    })
    servers.environment.advance(hour + 1000)
    const later = await refund(both[0]!, who, 5)
    await both[0]!.idle()
    expect(await paid([later])).toHaveLength(1)
  })

  test('[OP-3] amounts are summed over the window, and what failed for certain does not count', async () => {
    const who = {tenant: newTenant(), subject: 'ana'}
    const limits: OperationLimit[] = [{kind: 'amount', sum: 100, inMs: hour}]
    const {OperationFailed} = await import('../../sync-server/index.ts')
    const failing = limited(limits, {
      execute: async () => {
        throw new OperationFailed('closed')
      },
    })
    const broken = servers.server({operations: failing})
    await refund(broken, who, 90)
    await broken.idle()
    const server = servers.server({operations: limited(limits)})
    const made = [await refund(server, who, 60)]
    await server.idle()
    made.push(await refund(server, who, 50))
    await server.idle()
    expect(await reasonOf(server, made[1]!)).toMatchObject({
      code: 'over_limit',
      reason: expect.stringContaining('at most 100 cents in one hour; 60 cents of that is used and this is 50 cents'),
    })
    made.push(await refund(server, who, 40))
    await server.idle()
    expect((await paid(made)).map(({cents}) => Number(cents))).toEqual([60, 40])
  })

  test('[OP-7] what is too much by itself is refused before anybody is asked to approve it', async () => {
    const who = {tenant: newTenant(), subject: 'ana'}
    const authorise = () => ({approval: {role: 'lead', reason: 'large', expiresInMs: 1000}})
    const server = servers.server({operations: limited([{kind: 'single', amount: 50}], {authorise})})
    const one = await refund(server, who, 51)
    await server.idle()
    expect(await one.told()).toEqual(['operation.refused'])
    expect(await reasonOf(server, one)).toMatchObject({code: 'over_limit', reason: expect.stringContaining('50 cents')})
    const fits = await refund(server, who, 50)
    await server.idle()
    expect(await fits.told()).toEqual(['approval.requested'])
  })

  test('[RET-5] a limit for each subject leaves the others of the tenant, and other tenants, alone', async () => {
    const tenant = newTenant()
    const server = servers.server({operations: limited([{kind: 'rate', starts: 1, inMs: hour, per: 'subject'}])})
    const people = [
      {tenant, subject: 'ana'},
      {tenant, subject: 'ben'},
      {tenant: newTenant(), subject: 'ana'},
      {tenant, subject: 'ana'},
    ]
    const made = []
    for (const who of people) {
      made.push(await refund(server, who, 5))
      await server.idle()
    }
    const ends = await Promise.all(made.map(async one => (await one.told()).at(-1)))
    expect(ends).toEqual(['operation.executed', 'operation.executed', 'operation.executed', 'operation.refused'])
  })

  test('[OP-3] over its concurrency an operation waits for a free place and then runs, in order of none lost', async () => {
    const who = {tenant: newTenant(), subject: 'ana'}
    const gate = createGate()
    let atOnce = 0
    let most = 0
    const operations = limited([{kind: 'concurrency', atOnce: 1}], {
      execute: async ({operation, input}) => {
        most = Math.max(most, ++atOnce)
        await gate.pass()
        atOnce--
        return servers.desk.pay(operation, input.cents)
      },
    })
    const server = servers.server({operations})
    const made = [await refund(server, who, 5), await refund(server, who, 5), await refund(server, who, 5)]
    await gate.reached(1)
    await expect.poll(() => made[2]?.told()).toEqual(['operation.authorised'])
    gate.open()
    await expect.poll(() => paid(made)).toHaveLength(3)
    await server.idle()
    expect(most).toBe(1)
  })

  test.each<[string, Parameters<typeof servers.desk.operation>[0], RegExp]>([
    [
      'no number',
      {limits: [{kind: 'rate', starts: 0, inMs: 1}]},
      /limits\.0\.starts: expected a number of more than 0, got 0/,
    ],
    ['an amount nobody can read', {limits: [{kind: 'single', amount: 5}]}, /"single" needs a function amount/],
  ])('a limit with %s is a misconfiguration, said at once', (_, over, message) => {
    expect(() => servers.server({operations: servers.desk.operation(over)})).toThrow(message)
  })
})
