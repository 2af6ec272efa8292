import {describe, expect, test} from 'vitest'
import {createGate} from '../support/gate.ts'
import {testDatabase} from './support/database.ts'
import {decide, deskServers, inbox, told} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'
import {mortalStore} from './support/mortal-store.ts'

const database = testDatabase()
const servers = deskServers(database)
let tenants = 0

async function restart() {
  const next = servers.server()
  await next.start()
  await next.idle()
  await next.close()
  return next
}

describe('a process that dies', () => {
  // Transactions of a small refund: 1 admission, 2 authorised, 3 started, (the call), 4 executed.
  test.each([
    {transaction: 1, when: 'after', paid: 1, last: 'operation.executed'},
    {transaction: 2, when: 'before', paid: 1, last: 'operation.executed'},
    {transaction: 2, when: 'after', paid: 1, last: 'operation.executed'},
    {transaction: 3, when: 'before', paid: 1, last: 'operation.executed'},
    // The intent is written and the call was never made: the bank says so, and nothing is tried blindly.
    {transaction: 3, when: 'after', paid: 0, last: 'operation.failed'},
    // The call was made and its receipt is lost with the process.
    {transaction: 4, when: 'before', paid: 1, last: 'operation.executed'},
    {transaction: 4, when: 'after', paid: 1, last: 'operation.executed'},
  ] as const)('[OP-3] $when commit of transaction $transaction pays $paid times, never twice', async death => {
    const who = {tenant: `kill-${++tenants}`, subject: 'ana'}
    const mortal = mortalStore(database.store, death)
    const doomed = servers.server({store: mortal.store, onFault: () => {}})
    const device = testDevice(who)
    const refund = device.refund({orderId: 'A1', cents: 5})
    await device.push(doomed, [device.open(), ...refund.events]).catch(() => {})
    await doomed.idle()
    expect(mortal.isDead()).toBe(true)

    const next = await restart()
    await device.push(next, [device.open(), ...refund.events]).catch(() => {})
    await restart()
    expect(await servers.desk.payments(refund.operation)).toHaveLength(death.paid)
    expect((await told(next, who, device.session)).at(-1)).toBe(death.last)
  })

  test.each([
    {point: 'before the bank took it', pays: false, paid: 0, last: 'operation.failed'},
    {point: 'after the bank took it', pays: true, paid: 1, last: 'operation.executed'},
  ])('[OP-4] inside the call, $point: uncertain first, then what the bank says', async ({pays, paid, last}) => {
    const who = {tenant: `kill-${++tenants}`, subject: 'ana'}
    const mortal = mortalStore(database.store, {transaction: 99, when: 'before'})
    const operations = servers.desk.operation({
      execute: async ({operation, input}) => {
        if (pays) await servers.desk.pay(operation, input.cents)
        return mortal.kill()
      },
    })
    const doomed = servers.server({store: mortal.store, operations, onFault: () => {}})
    const device = testDevice(who)
    const refund = device.refund({orderId: 'A1', cents: 5})
    await device.push(doomed, [device.open(), ...refund.events])
    await doomed.idle()

    const next = await restart()
    expect(await servers.desk.payments(refund.operation)).toHaveLength(paid)
    expect(await told(next, who, device.session)).toEqual([
      'operation.authorised',
      'operation.started',
      'operation.uncertain',
      last,
    ])
  })

  test('[APP-6] between a granted approval and its execution: the next process executes it once', async () => {
    const who = {tenant: `kill-${++tenants}`, subject: 'ana'}
    const lead = {tenant: who.tenant, subject: 'lea', roles: ['lead']}
    // 1 admission, 2 approval requested, 3 granted.
    const mortal = mortalStore(database.store, {transaction: 3, when: 'after'})
    const doomed = servers.server({store: mortal.store, onFault: () => {}})
    const device = testDevice(who)
    const refund = device.refund({orderId: 'A1', cents: 6000})
    await device.push(doomed, [device.open(), ...refund.events])
    await doomed.idle()
    const [item] = await inbox(doomed, lead)
    if (!item) throw new Error('nothing in the inbox')
    const answer = await decide(doomed, lead, item.approval, {verdict: 'approve', digest: item.digest})
    expect(answer.status).toBe(500)
    expect(await servers.desk.payments(refund.operation)).toEqual([])

    const next = await restart()
    expect(await servers.desk.payments(refund.operation)).toHaveLength(1)
    const again = await decide(next, lead, item.approval, {verdict: 'approve', digest: item.digest})
    expect(again.body).toMatchObject({status: 'granted', decidedBy: 'lea'})
    expect(await servers.desk.payments(refund.operation)).toHaveLength(1)
  })

  test('[RUN-4] a correction that reaches the next process first voids what the dead one had authorised', async () => {
    const who = {tenant: `kill-${++tenants}`, subject: 'ana'}
    const mortal = mortalStore(database.store, {transaction: 3, when: 'before'})
    const doomed = servers.server({store: mortal.store, onFault: () => {}})
    const device = testDevice(who)
    const refund = device.refund({orderId: 'A1', cents: 5})
    await device.push(doomed, [device.open(), ...refund.events])
    await doomed.idle()
    const next = servers.server()
    await device.push(next, [device.post('Stop.')])
    await restart()
    expect(await servers.desk.payments(refund.operation)).toEqual([])
    expect((await told(next, who, device.session)).at(-1)).toBe('operation.voided')
  })
})

test('[OP-4] a process that starts beside another leaves a call that is under way alone', async () => {
  const who = {tenant: 'beside', subject: 'ana'}
  const gate = createGate()
  const operations = servers.desk.operation({
    execute: async ({operation, input}) => {
      await gate.pass()
      return servers.desk.pay(operation, input.cents)
    },
  })
  const first = servers.server({operations})
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 5})
  await device.push(first, [device.open(), ...refund.events])
  await gate.reached(1)
  const second = servers.server({sharesDatabase: true})
  await second.start()
  await second.idle()
  gate.open()
  await first.idle()
  await second.close()
  expect((await told(second, who, device.session)).slice(1)).toEqual(['operation.started', 'operation.executed'])
  expect(await servers.desk.payments(refund.operation)).toHaveLength(1)
})
