import {beforeAll, describe, expect, test} from 'vitest'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import type {Passport} from '../../runtime/protocol/passport.ts'
import type {CustodyAnswer} from '../../runtime/protocol/wire.ts'
import {createSyncServer, serverEnvironment as env, type SyncServer} from '../../sync-server/index.ts'
import {call, trustingAuth, type Who} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {logOf} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
let server: SyncServer
beforeAll(() => {
  server = underContract(
    createSyncServer({
      store: database.store,
      authenticate: trustingAuth,
      facts: {read: async () => null},
      operations: {},
    }),
  )
})

let tenants = 0
async function opened() {
  const device = testDevice({tenant: `cus-${++tenants}`, subject: 'ana'})
  await device.push(server, [device.open()])
  return device
}
const claim = (who: Who, session: string, device: string, sawEpoch: number) =>
  call<CustodyAnswer & {error?: ErrorBody}>(server, who, `/v1/sessions/${session}/custody`, {device, sawEpoch})

describe('custody', () => {
  test('[CUS-1] of two claims at once exactly one is granted, the other hears which epoch it met', async () => {
    const {who, session} = await opened()
    const rivals = [env.id('device'), env.id('device')] as const
    const answers = await Promise.all(rivals.map(device => claim(who, session, device, 1)))
    expect(answers.map(answer => answer.status).sort()).toEqual([200, 409])
    const lost = answers.find(answer => answer.status === 409)
    expect(lost?.body.error).toMatchObject({code: 'stale_epoch', details: {met: 'epoch 2'}})
    expect((await logOf(server, who, session)).filter(event => event.kind === 'custody.granted')).toHaveLength(1)
  })

  test('[CUS-5] a claim sent again after its answer was lost gets the same epoch, not another', async () => {
    const {who, session} = await opened()
    const device = env.id('device')
    const first = await claim(who, session, device, 1)
    expect(first.body).toEqual({holder: device, epoch: 2, head: 2})
    expect(await claim(who, session, device, 1)).toEqual(first)
  })

  test('[CUS-3] the next holder goes on under its epoch, the last one is fenced', async () => {
    const device = await opened()
    const next = testDevice(device.who, device.session, 2)
    await claim(device.who, device.session, next.device, 1)
    const refund = next.refund({orderId: 'A1', cents: 1})
    const answer = await next.push(server, refund.events.slice(0, 3))
    expect(answer.verdicts.every(verdict => verdict.status === 'accepted')).toBe(true)
    const late = await device.push(server, device.refund({orderId: 'A1', cents: 1}).events.slice(0, 1))
    expect(late.verdicts[0]).toMatchObject({status: 'rejected', error: {code: 'stale_epoch'}})
  })

  test('[ID-5] the passport answers for the latest run and, as it last stood, for an earlier one', async () => {
    const device = await opened()
    const earlier = device.refund({orderId: 'A1', cents: 1})
    const later = device.refund({orderId: 'A1', cents: 1})
    const cancelled = device.event('run.cancelled', {}, {run: earlier.run})
    await device.push(server, [...earlier.events.slice(0, 2), cancelled, ...later.events.slice(0, 3)])
    const passport = async (run: string) => (await call<Passport>(server, device.who, `/v1/runs/${run}/passport`)).body
    expect(await passport(later.run)).toMatchObject({
      session: device.session,
      run: later.run,
      status: 'running',
      custody: {holder: device.device, epoch: 1},
      lastConfirmed: 7,
      checkpoint: {step: later.step, steps: 1},
      may: {resume: {legal: true}},
    })
    expect(await passport(earlier.run)).toMatchObject({
      run: earlier.run,
      status: 'cancelled',
      lastConfirmed: 7,
      may: {resume: {legal: false}, retry: {legal: false}},
    })
  })
})

test('[CUS-3] a hand-over goes to a device that is known in the session, by compare and set, and to no other', async () => {
  const {who, session, device} = await opened()
  const next = testDevice(who, session)
  const hand = (to: string, sawEpoch: number) =>
    call<CustodyAnswer & {error?: ErrorBody}>(server, who, `/v1/sessions/${session}/custody`, {device, sawEpoch, to})
  expect((await hand(next.device, 1)).body.error).toMatchObject({code: 'refused', details: {owner: 'control plane'}})
  await next.push(server, [next.post('Here I am.')])
  expect((await hand(next.device, 1)).body).toMatchObject({holder: next.device, epoch: 2})
  expect((await hand(next.device, 1)).body).toMatchObject({holder: next.device, epoch: 2})
  expect((await hand(device, 1)).body.error).toMatchObject({code: 'stale_epoch'})
})
