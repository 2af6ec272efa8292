import {beforeAll, describe, expect, test} from 'vitest'
import type {Envelope} from '../../runtime/protocol/event.ts'
import type {Slots} from '../../runtime/protocol/slots.ts'
import type {PushAnswer} from '../../runtime/protocol/wire.ts'
import {createSyncServer, serverEnvironment as env, type SyncServer} from '../../sync-server/index.ts'
import {trustingAuth} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
let server: SyncServer
beforeAll(() => {
  const facts = {read: async () => null}
  server = underContract(createSyncServer({store: database.store, authenticate: trustingAuth, facts, operations: {}}))
})

const codes = (answer: PushAnswer) =>
  answer.verdicts.map(verdict => (verdict.status === 'rejected' ? verdict.error.code : verdict.status))

/** A session in which a run has patched its slots twice: after event 4, and after event 6. */
async function patchedTwice() {
  const device = testDevice({tenant: `slots-${env.id('event')}`, subject: 'ana'})
  const {run, step, events} = device.refund({orderId: 'A1', cents: 1})
  const patch = (slots: Slots, extra = {}) =>
    device.event('slots.patched', {patch: slots}, device.held(run, {step, ...extra}))
  const opened = [device.open(), ...events.slice(0, 2)]
  const answer = await device.push(server, [...opened, patch({n: 1}), device.post('go on'), patch({n: 2, m: null})])
  expect(new Set(codes(answer))).toEqual(new Set(['accepted']))
  return {device, run, step, patch}
}

describe('slots on the server', () => {
  test('[WRK-1] a patch from a device without custody, or under an old epoch, is refused', async () => {
    const {device, run, step, patch} = await patchedTwice()
    const other = testDevice(device.who, device.session)
    const foreign = other.event('slots.patched', {patch: {n: 9}}, other.held(run, {step}))
    expect(codes(await other.push(server, [foreign]))).toEqual(['stale_epoch'])
    expect(codes(await device.push(server, [patch({n: 9}, {epoch: 7})]))).toEqual(['stale_epoch'])
    expect(codes(await device.push(server, [patch({n: 3})]))).toEqual(['accepted'])
  })

  test('[WRK-3] a fork that claims other slots than the record has as of its event is refused', async () => {
    const {device} = await patchedTwice()
    const forkOf = async (seq: number, slots?: Slots, source = device.session) => {
      const fork = testDevice(device.who)
      const from = {session: source, seq}
      const data = {agent: 'desk', policy: 'steer' as const, from, ...(slots && {slots})}
      const [code] = codes(await fork.push(server, [fork.event('session.forked', data) as Envelope]))
      return {code, session: fork.session}
    }
    expect((await forkOf(3)).code).toBe('accepted')
    expect((await forkOf(3, {n: 1})).code).toBe('bad_input')
    expect((await forkOf(5, {n: 2})).code).toBe('bad_input')
    expect((await forkOf(5)).code).toBe('bad_input')
    const fork = await forkOf(5, {n: 1})
    expect(fork.code).toBe('accepted')
    expect((await forkOf(1, {n: 2}, fork.session)).code).toBe('bad_input')
    expect((await forkOf(1, {n: 1}, fork.session)).code).toBe('accepted')
  })
})
