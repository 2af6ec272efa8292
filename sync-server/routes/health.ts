import type {Hono} from 'hono'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {withDeadline} from '../authority/deadline.ts'
import type {StoreHealth} from '../storage/store.ts'
import type {Registry} from '../telemetry/registry.ts'
import type {Env} from './http.ts'

export type HealthParts = {
  store: StoreHealth
  /** What the driver of operations and sweeps says of itself. */
  driver(): 'ok' | 'not_started' | 'late'
  metrics: {registry: Registry; authorise(request: Request): boolean | Promise<boolean>} | null
}

const storeDeadlineMs = 2000

/**
 * For whoever keeps the process running: `/healthz` says that it lives, `/readyz` that it can do its work, and if not,
 * which part cannot. Neither needs a token, and neither says more than that. `/metrics` answers only who may see it.
 */
export function healthRoutes(app: Hono<Env>, {store, driver, metrics}: HealthParts): void {
  app.get('/healthz', c => c.json({ok: true}))

  app.get('/readyz', async c => {
    const parts = {...(await storeParts(store)), driver: driver()}
    const ok = Object.values(parts).every(part => part === 'ok')
    return c.json({ok, parts}, ok ? 200 : 503)
  })

  if (!metrics) return
  app.get('/metrics', async c => {
    // The same as no such route: who may not see it need not know of it.
    if (!(await metrics.authorise(c.req.raw))) throw new HoldfastError('not_found', 'No such route.')
    c.header('cache-control', 'no-store')
    return c.text(metrics.registry.text(), 200, {'content-type': 'text/plain; version=0.0.4; charset=utf-8'})
  })
}

async function storeParts(store: StoreHealth) {
  try {
    const migrated = await withDeadline('The store', storeDeadlineMs, () => store.migrated())
    return {store: 'ok', migrations: migrated ? 'ok' : 'pending'}
  } catch {
    return {store: 'unreachable', migrations: 'unknown'}
  }
}
