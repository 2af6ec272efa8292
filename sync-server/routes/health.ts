import * as z from 'zod'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {withDeadline} from '../authority/deadline.ts'
import type {StoreHealth} from '../storage/store.ts'
import type {Registry} from '../telemetry/registry.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

export type HealthParts = {
  store: StoreHealth
  /** State of the loop that runs operations and sweeps. */
  driver(): 'ok' | 'not_started' | 'late'
  metrics: {registry: Registry; authorise(request: Request): boolean | Promise<boolean>} | null
}

const storeDeadlineMs = 2000

const readinessSchema = z.strictObject({
  ok: z.boolean(),
  parts: z.strictObject({
    store: z.enum(['ok', 'unreachable']),
    migrations: z.enum(['ok', 'pending', 'unknown']),
    driver: z.enum(['ok', 'not_started', 'late']),
  }),
})

const live = route({
  name: 'isAlive',
  method: 'GET',
  path: '/healthz',
  summary: 'Says that the process lives.',
  answers: {200: z.strictObject({ok: z.literal(true)})},
  open: true,
})

const ready = route({
  name: 'isReady',
  method: 'GET',
  path: '/readyz',
  summary: 'Says whether the server can do its work, and if not, which part cannot.',
  answers: {200: readinessSchema, 503: readinessSchema},
  open: true,
})

const readMetrics = route({
  name: 'readMetrics',
  method: 'GET',
  path: '/metrics',
  summary: 'Metrics for whoever the host lets see them; there is no such route for others.',
  answers: {200: {mediaType: 'text/plain', description: 'In the text format of Prometheus, version 0.0.4.'}},
  errors: ['not_found'],
  open: true,
})

/**
 * Registers the health routes. `/healthz` reports that the process is alive; `/readyz` whether the server can do its
 * work and which part cannot. Both are public and report nothing else. `/metrics` requires the host's authorisation.
 */
export function healthRoutes(app: App, {store, driver, metrics}: HealthParts): void {
  handle(app, live, () => ({ok: true as const}))

  handle(app, ready, async (_, c) => {
    const parts = {...(await storeParts(store)), driver: driver()}
    const ok = Object.values(parts).every(part => part === 'ok')
    return ok ? {ok, parts} : c.json({ok, parts}, 503)
  })

  if (!metrics) return
  handle(app, readMetrics, async (_, c) => {
    // Same response as for an unknown route, so that the existence of the route is not disclosed.
    if (!(await metrics.authorise(c.req.raw))) throw new HoldfastError('not_found', 'No such route.')
    c.header('cache-control', 'no-store')
    return c.text(metrics.registry.text(), 200, {'content-type': 'text/plain; version=0.0.4; charset=utf-8'})
  })
}

async function storeParts(store: StoreHealth) {
  try {
    const migrated = await withDeadline('The store', storeDeadlineMs, () => store.migrated())
    return {store: 'ok', migrations: migrated ? 'ok' : 'pending'} as const
  } catch {
    return {store: 'unreachable', migrations: 'unknown'} as const
  }
}
