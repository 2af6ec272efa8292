import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {RunId, StepId} from '../../runtime/protocol/ids.ts'
import type {UsageAnswer} from '../../runtime/protocol/usage.ts'
import {usageAnswerSchema} from '../../runtime/protocol/usage.ts'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import {createSyncServer, type SyncServer} from '../../sync-server/index.ts'
import {type CountingProvider, openCountingProvider, promptTokens, words} from '../support/counting-provider.ts'
import {call, headersOf, trustingAuth, type Who} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {logOf} from './support/desk-server.ts'
import {pin, testDevice} from './support/device.ts'
import {readStream} from './support/read-stream.ts'

const database = testDatabase()
let provider: CountingProvider
let server: SyncServer
beforeAll(async () => {
  provider = await openCountingProvider()
  server = underContract(
    createSyncServer({
      store: database.store,
      authenticate: trustingAuth,
      facts: {read: async () => null},
      operations: {},
      models: {desk: {model: provider.model, prices: {inputPerMTok: 2, outputPerMTok: 10}}},
      budgets: [{windowMs: 3_600_000, tokens: 10_000}],
      metrics: {authorise: () => true},
    }),
  )
})
afterAll(() => provider.close())

const cost = 2 * promptTokens + 10 * words.length
const usage = async (who: Who, query = '') => (await call<UsageAnswer>(server, who, `/v1/usage${query}`)).body

/** A run with one paid call, that fails so often and is retried, and then ends so. */
async function task(who: Who, failures: number, ending: 'finished' | 'partial' | 'cancelled') {
  const device = testDevice(who)
  const [run, step] = [env.id('run'), env.id('step')]
  const held = (attempt: number) => device.held(run, {step, attempt})
  const manifest = {events: [], answers: [], estimatedTokens: 1, promptHash: '0'.repeat(64)}
  const spent = {inputTokens: promptTokens, outputTokens: words.length}
  await generate(who, {session: device.session, run, step})
  const retries = Array.from({length: failures}, (_, i) => [
    device.event('run.failed', {code: 'model_failed', message: 'x', retryable: true}, held(i + 1)),
    device.event('run.retried', {}, {run}),
  ])
  const last = held(failures + 1)
  const {verdicts} = await device.push(server, [
    device.open(),
    device.post('Hi'),
    device.event('run.started', {pin}, device.held(run)),
    device.event('step.prepared', {number: 1, manifest}, held(1)),
    ...retries.flat(),
    ...(ending === 'cancelled'
      ? [device.event('run.cancelled', {}, {run})]
      : [
          device.event('model.replied', {content: [], finish: 'stop', usage: spent}, last),
          device.event('run.completed', {outcome: ending}, last),
        ]),
  ])
  expect(verdicts.filter(({status}) => status !== 'accepted')).toEqual([])
}

async function generate(who: Who, name: {session: string; run: RunId; step: StepId}) {
  const prompt = [{role: 'user', content: [{type: 'text', text: 'Hi'}]}]
  const response = await server.app.request('/v1/models/desk/stream', {
    method: 'POST',
    headers: headersOf(who),
    body: JSON.stringify({prompt, call: {...name, attempt: 1, try: 1}}),
  })
  await readStream(response).rest()
}

async function runOf(who: Who, session: string): Promise<string | undefined> {
  return (await logOf(server, who, session)).find(event => event.kind === 'run.started')?.run
}

describe('usage', () => {
  test('[OBS-3] tokens, cost and recovery are counted for each completed task, with what failed on the way', async () => {
    const who = {tenant: 'usage-1', subject: 'ana'}
    await task(who, 0, 'finished')
    await task(who, 2, 'finished')
    await task(who, 1, 'cancelled')
    await task(who, 0, 'partial')
    const answer = await usage(who)
    expect(usageAnswerSchema.parse(answer)).toEqual(answer)
    const spent = {inputTokens: 4 * promptTokens, outputTokens: 4 * words.length, costMicros: 4 * cost}
    expect(answer.models).toEqual([{model: 'desk', calls: 4, estimated: 0, ...spent}])
    expect(answer.tasks).toMatchObject({
      completed: 2,
      partial: 1,
      failed: 0,
      cancelled: 1,
      failedOnce: 2,
      metTrouble: 2,
      recovered: 1,
    })
    expect(answer.tasks.recoveryRate).toBe(0.5)
    expect(answer.tasks.perCompleted).toMatchObject({
      steps: 2,
      inputTokens: (3 * promptTokens) / 2,
      costMicros: (4 * cost) / 2,
    })
    const tokens = 4 * (promptTokens + words.length)
    expect(answer.limits).toMatchObject([{tokens: 10_000, costMicros: null, usedTokens: tokens}])
  })

  test('[OBS-3] a run that was resumed, and one whose effect was refused, met trouble too; a smooth one did not', async () => {
    const who = {tenant: 'usage-6', subject: 'ana'}
    await task(who, 0, 'finished')
    const resumed = testDevice(who)
    const run = env.id('run')
    const from = {seq: 2, holder: resumed.device, epoch: 1}
    const held = resumed.held(run, {step: env.id('step')})
    const manifest = {events: [], answers: [], estimatedTokens: 1, promptHash: '0'.repeat(64)}
    const done = resumed.event('run.completed', {outcome: 'finished'}, held)
    done.at += 5000
    const {verdicts} = await resumed.push(server, [
      resumed.open(),
      resumed.event('run.started', {pin}, resumed.held(run)),
      resumed.event('run.resumed', {from, changed: []}, resumed.held(run)),
      resumed.event('step.prepared', {number: 1, manifest}, held),
      resumed.event('model.replied', {content: [], finish: 'stop', usage: {inputTokens: 1, outputTokens: 1}}, held),
      done,
    ])
    expect(verdicts.filter(({status}) => status !== 'accepted')).toEqual([])
    const refused = testDevice(who)
    await refused.push(server, [refused.open(), ...refused.refund({orderId: 'A1', cents: 5}).events])
    await server.idle()
    const answer = await usage(who)
    expect(answer.tasks).toMatchObject({completed: 2, failedOnce: 0, metTrouble: 1, recovered: 1, recoveryRate: 1})
    expect(answer.tasks.latencyMs?.p95).toBeGreaterThan(2000)
    const cancelled = refused.event('run.cancelled', {}, {run: (await runOf(who, refused.session)) as RunId})
    await refused.push(server, [cancelled])
    expect((await usage(who)).tasks).toMatchObject({metTrouble: 2, recovered: 1, recoveryRate: 0.5, cancelled: 1})
    const page = await (await server.app.request('/metrics')).text()
    const of = (name: string) => new RegExp(`^holdfast_${name}\\{[^}]*usage-6[^}]*\\} (\\d+)$`, 'm').exec(page)?.[1]
    expect([of('runs_troubled_total'), of('runs_recovered_total')]).toEqual(['2', '1'])
    expect(page).toMatch(/holdfast_run_duration_seconds_count\{[^}]*outcome="finished"[^}]*usage-6/)
  })

  test('[OBS-3] nothing done is nothing counted, and no number is made up', async () => {
    const answer = await usage({tenant: 'usage-2', subject: 'ana'})
    expect(answer.models).toEqual([])
    expect(answer.tasks).toMatchObject({completed: 0, perCompleted: null, latencyMs: null, recoveryRate: null})
  })

  test('[ID-4] everybody sees their own; the tenant as a whole only who holds the role', async () => {
    const [ana, ben] = [
      {tenant: 'usage-3', subject: 'ana'},
      {tenant: 'usage-3', subject: 'ben'},
    ]
    await task(ana, 0, 'finished')
    expect((await usage(ben)).models).toEqual([])
    expect((await usage(ben)).tasks.completed).toBe(0)
    expect((await call(server, ben, '/v1/usage?scope=tenant')).status).toBe(403)
    expect((await usage({...ben, roles: ['operator']}, '?scope=tenant')).tasks.completed).toBe(1)
    const stranger = {tenant: 'usage-4', subject: 'ana', roles: ['operator']}
    expect((await usage(stranger, '?scope=tenant')).models).toEqual([])
  })

  test('only what falls into the time asked for is counted', async () => {
    const who = {tenant: 'usage-5', subject: 'ana'}
    const before = Date.now()
    await task(who, 0, 'finished')
    expect((await usage(who, `?from=0&to=${before}`)).tasks.completed).toBe(0)
    expect((await usage(who, `?from=${before}`)).tasks.completed).toBe(1)
    for (const query of ['?from=yesterday', '?to=-1', '?scope=all']) {
      expect((await call(server, who, `/v1/usage${query}`)).status).toBe(400)
    }
  })
})
