import {Hono} from 'hono'
import {describe, expect, test} from 'vitest'
import {createSyncServer, type SyncServerOptions} from '../../sync-server/index.ts'
import {createRegistry} from '../../sync-server/telemetry/registry.ts'
import {headersOf, trustingAuth} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {pin, testDevice} from './support/device.ts'
import {movableClock} from './support/environment.ts'

const database = testDatabase()

function server(options: Partial<SyncServerOptions> = {}) {
  return underContract(
    createSyncServer({
      store: database.store,
      authenticate: trustingAuth,
      facts: {read: async () => null},
      operations: {},
      ...options,
    }),
  )
}
const ready = async (served: ReturnType<typeof server>) => {
  const response = await served.app.request('/readyz')
  return {status: response.status, ...(await response.json())}
}

describe('a process that is asked whether it can work', () => {
  test('says yes once it has started, and no before and after it stood still', async () => {
    const environment = movableClock()
    const served = server({environment, limits: {sweepMs: 3_600_000}})
    expect(await ready(served)).toMatchObject({status: 503, parts: {store: 'ok', driver: 'not_started'}})
    await served.start()
    expect(await ready(served)).toEqual({
      status: 200,
      ok: true,
      parts: {store: 'ok', migrations: 'ok', driver: 'ok'},
    })
    environment.advance(4 * 3_600_000)
    expect(await ready(served)).toMatchObject({status: 503, parts: {driver: 'late'}})
    await served.close()
  })

  test.each([
    ['that cannot be reached', () => Promise.reject(new Error('ECONNREFUSED 10.0.0.1')), 'unreachable', 'unknown'],
    ['that lacks a migration', () => Promise.resolve(false), 'ok', 'pending'],
  ])('names the store %s, and not its address', async (_, migrated, store, migrations) => {
    const served = server({store: {...database.store, health: {migrated}}})
    await served.start()
    const answer = await ready(served)
    expect(answer).toEqual({status: 503, ok: false, parts: {store, migrations, driver: 'ok'}})
    await served.close()
  })

  test('a store is not ready while a migration of this build is missing', async () => {
    expect(await database.store.health.migrated()).toBe(true)
    await database.sql.query(`DELETE FROM hf_migrations WHERE name = 'models-run-totals'`)
    expect(await database.store.health.migrated()).toBe(false)
    await database.sql.query(`INSERT INTO hf_migrations (name) VALUES ('models-run-totals')`)
  })
})

describe('metrics for Prometheus', () => {
  test('are there only when asked for, and only for whoever may see them', async () => {
    expect((await server().app.request('/metrics')).status).toBe(404)
    const metrics = {authorise: (request: Request) => request.headers.get('authorization') === 'Bearer scraper'}
    const served = server({metrics})
    await served.app.request('/v1/sessions', {headers: headersOf({tenant: 'acme', subject: 'ana'})})
    const denied = await served.app.request('/metrics')
    expect([denied.status, (await denied.json()).error.message]).toEqual([404, 'No such route.'])
    const scraped = await served.app.request('/metrics', {headers: {authorization: 'Bearer scraper'}})
    expect(scraped.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await scraped.text()).toContain(
      'http_server_request_duration_seconds_count{method="GET",route="/v1/sessions",status="200"} 1\n',
    )
  })

  test('[SYNC-6] methods, paths and agents that callers invent share one series each', async () => {
    const served = server({metrics: {authorise: () => true}})
    const who = {tenant: 'inventive', subject: 'ana'}
    for (let i = 0; i < 30; i++) {
      await served.app.request(`/v1/nowhere-${i}`, {method: `M${i}`, headers: headersOf(who)})
      const device = testDevice(who)
      const run = device.refund({orderId: 'A1', cents: 5}).run
      const held = device.held(run, {actor: {type: 'agent', name: `agent-${i}`}})
      const started = device.event('run.started', {pin: {...pin, agent: `agent-${i}`}}, held)
      await device.push(served, [device.open(), started, device.event('run.cancelled', {}, {run})])
    }
    const text = await (await served.app.request('/metrics')).text()
    const labels = (metric: string, label: string) =>
      new Set([...text.matchAll(new RegExp(`^${metric}\\{.*?\\b${label}="([^"]*)"`, 'gm'))].map(([, value]) => value))
    expect(labels('http_server_request_duration_seconds_count', 'method')).toEqual(new Set(['_OTHER', 'POST']))
    expect(labels('http_server_request_duration_seconds_count', 'route')).toEqual(
      new Set(['_OTHER', '/v1/sessions/:session/events']),
    )
    expect(labels('holdfast_runs_ended_total', 'agent')).toContain('_OTHER')
    expect(labels('holdfast_runs_ended_total', 'agent').size).toBe(21)
  })

  test('behind the catch-all routes of a host, a request is named by the route that it was for', async () => {
    const served = server({metrics: {authorise: () => true}})
    const host = new Hono().route('/', served.app as never)
    host.all('*', c => c.text('the page'))
    await host.request('/v1/sessions', {headers: headersOf({tenant: 'acme', subject: 'ana'})})
    expect(await (await host.request('/metrics')).text()).toContain('route="/v1/sessions"')
  })

  test('are written as the format wants them: counters, cumulative buckets, escaped labels', () => {
    const registry = createRegistry()
    registry.add('holdfast.runs.ended', {outcome: 'finished', agent: 'a"b\\c\nd'}, 1)
    registry.add('holdfast.runs.ended', {agent: 'a"b\\c\nd', outcome: 'finished'}, 2)
    for (const value of [1, 20, 2_000_000]) registry.record('gen_ai.client.token.usage', {}, value)
    const lines = registry.text().split('\n')
    expect(lines).toContain('# TYPE holdfast_runs_ended_total counter')
    expect(lines).toContain('holdfast_runs_ended_total{agent="a\\"b\\\\c\\nd",outcome="finished"} 3')
    const tokens = lines.filter(line => line.startsWith('gen_ai_client_token_usage_tokens'))
    expect(tokens.slice(0, 4)).toEqual([
      'gen_ai_client_token_usage_tokens_bucket{le="1"} 1',
      'gen_ai_client_token_usage_tokens_bucket{le="16"} 1',
      'gen_ai_client_token_usage_tokens_bucket{le="64"} 2',
      'gen_ai_client_token_usage_tokens_bucket{le="256"} 2',
    ])
    expect(tokens.slice(-3)).toEqual([
      'gen_ai_client_token_usage_tokens_bucket{le="+Inf"} 3',
      'gen_ai_client_token_usage_tokens_sum 2000021',
      'gen_ai_client_token_usage_tokens_count 3',
    ])
    expect(lines.at(-1)).toBe('')
  })

  test('[SYNC-6] no caller can fill the memory: what is too many is counted together', () => {
    const registry = createRegistry()
    for (let i = 0; i < 1500; i++) registry.add('holdfast.events', {tenant: `t${i}`, kind: 'x'}, 1)
    const lines = registry.text().split('\n')
    expect(lines).toHaveLength(2 + 1000 + 1 + 1)
    expect(lines).toContain('holdfast_events_total{overflow="true"} 500')
  })
})
