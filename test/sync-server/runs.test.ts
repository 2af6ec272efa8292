import {beforeAll, describe, expect, test} from 'vitest'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import type {StandingEffects} from '../../runtime/protocol/standing-effects.ts'
import {serverEnvironment as env, type SyncServer} from '../../sync-server/index.ts'
import {call, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers, logOf} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let server: SyncServer
beforeAll(() => {
  server = servers.server()
})

let tenants = 0
async function running() {
  const device = testDevice({tenant: `run-${++tenants}`, subject: 'ana'})
  const refund = device.refund({orderId: 'A1', cents: 1})
  await device.push(server, [device.open(), ...refund.events.slice(0, 3)])
  return {...device, run: refund.run}
}
const command = (who: Who, run: string, what: 'cancel' | 'retry', body: object) =>
  call<{seq?: number; error?: ErrorBody}>(server, who, `/v1/runs/${run}/${what}`, body)

describe('a person without a device', () => {
  test('[RUN-7] [CUS-5] cancels a run once, however often it is said, and the record shows who did', async () => {
    const {who, run, session} = await running()
    const said = {event: env.id('event'), reason: 'Stop this.'}
    const first = await command(who, run, 'cancel', said)
    expect(first.status).toBe(200)
    expect(await command(who, run, 'cancel', said)).toEqual(first)
    const cancelled = (await logOf(server, who, session)).filter(({kind}) => kind === 'run.cancelled')
    expect(cancelled).toMatchObject([
      {device: null, run, actor: {type: 'person', subject: 'ana'}, data: {reason: 'Stop this.'}, seq: first.body.seq},
    ])
    const late = await command(who, run, 'retry', {event: env.id('event')})
    expect(late).toMatchObject({
      status: 409,
      body: {error: {code: 'refused', details: {met: 'a run that is cancelled'}}},
    })
    expect((await command(who, run, 'retry', said)).body.error?.code).toBe('conflict')
  })

  test('[RUN-5] retries a run that failed, as its next attempt', async () => {
    const {who, run, event, held, push} = await running()
    const failure = {code: 'model_failed', message: 'broke off', retryable: true}
    await push(server, [event('run.failed', failure, held(run))])
    expect((await command(who, run, 'retry', {event: env.id('event')})).status).toBe(200)
    const passport = await call<{attempt: number; status: string}>(server, who, `/v1/runs/${run}/passport`)
    expect(passport.body).toMatchObject({attempt: 2, status: 'retrying'})
  })

  test('[ID-4] [RET-5] is nobody to another subject and to another tenant', async () => {
    const {who, run, session} = await running()
    for (const stranger of [
      {...who, subject: 'bob'},
      {...who, tenant: 'elsewhere'},
    ]) {
      expect((await command(stranger, run, 'cancel', {event: env.id('event')})).status).toBe(404)
      expect((await call(server, stranger, `/v1/sessions/${session}/effects?after=0`)).status).toBe(404)
    }
    expect((await command(who, run, 'cancel', {event: 'no'})).status).toBe(400)
  })
})

test('[RUN-6] the server names the effects that a branch does not undo, through every ancestor', async () => {
  const who = {tenant: 'effects', subject: 'ana'}
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 1})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const forked = async (from: string, seq: number) => {
    const fork = testDevice(who)
    const data = {agent: 'desk', policy: 'steer' as const, from: {session: from as never, seq}}
    await fork.push(server, [fork.event('session.forked', data)])
    return fork.session
  }
  const child = await forked(device.session, 2)
  const grandchild = await forked(child, 1)
  const effects = async (session: string, after: number) =>
    (await call<StandingEffects>(server, who, `/v1/sessions/${session}/effects?after=${after}`)).body
  const own = await effects(device.session, 2)
  expect(own).toMatchObject({
    effects: [{tool: 'refundOrder', status: 'executed', session: device.session}],
    missing: [],
  })
  expect(await effects(grandchild, 1)).toEqual(own)
  expect((await effects(device.session, 1000)).effects).toEqual([])
})
