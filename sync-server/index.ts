import type {Environment} from '../runtime/protocol/environment.ts'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {limits} from '../runtime/protocol/version.ts'
import {createApp} from './app.ts'
import type {Authority} from './authority/authority.ts'
import type {Eraser} from './authority/erase.ts'
import {operationDriver} from './authority/operations.ts'
import {type Bus, createBus} from './bus.ts'
import type {DataLayer} from './data-layer.ts'
import type {Operations} from './define-operation.ts'
import {serverEnvironment} from './environment.ts'
import type {FactSource} from './facts.ts'
import type {Authenticate} from './principal.ts'
import {type RateLimits, standardRates} from './rate-limit.ts'
import {type Retention, retentionOf} from './retention.ts'
import type {App} from './routes/http.ts'
import type {Models} from './routes/models.ts'
import type {Store} from './storage/store.ts'
import {repeat, sweepOnce} from './sweep.ts'

export type {Environment} from '../runtime/protocol/environment.ts'
export {issueToken, type JwtAuthOptions, jwtAuth} from './auth.ts'
export {type Bus, createBus, type Poke} from './bus.ts'
export type {DataLayer, ErasureScope} from './data-layer.ts'
export {
  type Authorisation,
  type ChangedFact,
  defineOperation,
  type OperationDefinition,
  OperationFailed,
  type OperationRequest,
  type Operations,
  type Reconciliation,
} from './define-operation.ts'
export {serverEnvironment} from './environment.ts'
export type {BoundFacts, FactChange, FactContext, FactSource, FactValue} from './facts.ts'
export type {Authenticate, Owner, Principal} from './principal.ts'
export type {Rate, RateLimits} from './rate-limit.ts'
export type {Days, LayerRule, Retention} from './retention.ts'
export type {Models} from './routes/models.ts'
export {openPgStore} from './storage/pg-store.ts'
export {pgliteSql} from './storage/pglite-sql.ts'
export type {Sql} from './storage/sql.ts'
export type {Store} from './storage/store.ts'

export type SyncServerOptions = {
  store: Store
  authenticate: Authenticate
  facts: FactSource
  operations: Operations
  /** Models of the gateway by the name that devices use; their keys stay here. */
  models?: Models
  environment?: Environment
  /** Pokes between processes; within this one unless told. */
  bus?: Bus
  limits?: {
    /** Bytes of a request body; 1 MiB unless told. */
    bodyBytes?: number
    /** Milliseconds between two looks for expired approvals and open operations; 5,000 unless told. */
    sweepMs?: number
    /** Milliseconds between two signs of life on a live stream; 15,000 unless told. */
    heartbeatMs?: number
    /** Requests a second, and at once, of one subject and of one tenant in this process. */
    rates?: Partial<RateLimits>
  }
  /** What is kept beside the store: erased and exported with it. */
  layers?: readonly DataLayer[]
  roles?: {
    /** May erase and export for any subject of its tenant; `operator` unless told. */
    operator?: string
    /** May read the audit of its tenant; `auditor` unless told. */
    auditor?: string
  }
  /** How long each layer is kept; see `Retention` for what holds unless told. */
  retention?: Partial<Retention>
  erasure?: {
    /**
     * Rewrites the database's files after an erasure, which blocks its tables meanwhile; true unless told. A large
     * Postgres does it in its own hours instead.
     */
    rewriteFiles?: boolean
  }
  /** Origins of pages that call this server from elsewhere; none unless told. */
  cors?: {origins: string[]}
  /** Told of every fault of the server or of the code it was given; writes to standard error unless told. */
  onFault?: (error: unknown) => void
}

export type SyncServer = {
  app: App
  fetch(request: Request): Response | Promise<Response>
  /** Picks up what an earlier process left open, then keeps watch. Safe to call twice. */
  start(): Promise<void>
  /** One round of what only time brings about; `start` repeats it, a host that sleeps calls it from a schedule. */
  sweep(): Promise<void>
  /** Resolves when no operation is under way. */
  idle(): Promise<void>
  /** Ends the live streams and waits for operations under way; the store stays open, it is the host's. */
  close(): Promise<void>
}

/**
 * Builds the server that has the last word on order, operations, approvals and custody.
 *
 * @throws HoldfastError `misconfigured` for an operation under another name than its tool's or with another effect, or for a retention
 * that cannot be kept
 * @example
 * const server = createSyncServer({store, authenticate: jwtAuth({secret, issuer, audience}), facts, operations: {}})
 * await server.start()
 * const answer = await server.fetch(new Request('http://localhost/healthz'))
 */
export function createSyncServer(options: SyncServerOptions): SyncServer {
  checkOperations(options.operations)
  const retention = retentionOf(options.retention)
  const {store, facts, operations} = options
  const bus = options.bus ?? createBus()
  const environment = options.environment ?? serverEnvironment
  const onFault = options.onFault ?? (error => console.error(error))
  const context = {store, facts, operations, bus, environment, onFault}
  const driver = operationDriver(context)
  const eraser = {...context, ...eraserOf(options)}
  const sweep = () => sweepOnce({context, driver, eraser, retention})
  const closing = new AbortController()
  const app = createApp({
    context,
    driver,
    eraser,
    auditorRole: options.roles?.auditor ?? 'auditor',
    rates: {...standardRates, ...options.limits?.rates},
    authenticate: options.authenticate,
    models: options.models ?? {},
    cors: options.cors ?? null,
    bodyBytes: options.limits?.bodyBytes ?? limits.bodyBytes,
    heartbeatMs: options.limits?.heartbeatMs ?? 15_000,
    closing: closing.signal,
  })
  const unsubscribe = facts.changes?.(change => bus.publish({type: 'fact', ...change}))
  let stopSweep: (() => Promise<void>) | null = null

  return {
    app,
    fetch: request => app.fetch(request),
    start: async () => {
      if (stopSweep || closing.signal.aborted) return
      stopSweep = repeat(sweep, options.limits?.sweepMs ?? 5000, onFault)
      await driver.scan(Number.MAX_SAFE_INTEGER)
    },
    sweep,
    idle: driver.idle,
    close: async () => {
      closing.abort()
      unsubscribe?.()
      await stopSweep?.()
      await driver.close()
    },
  }
}

function eraserOf({layers, roles, erasure}: SyncServerOptions): Omit<Eraser, keyof Authority> {
  return {
    layers: layers ?? [],
    operatorRole: roles?.operator ?? 'operator',
    rewriteFiles: erasure?.rewriteFiles ?? true,
  }
}

function checkOperations(operations: Operations): void {
  for (const [name, {tool}] of Object.entries(operations)) {
    if (tool.name !== name) {
      throw new HoldfastError('misconfigured', `operations.${name}: expected a tool of this name, got "${tool.name}".`)
    }
    if (tool.effect !== 'external') {
      throw new HoldfastError('misconfigured', `operations.${name}: expected effect "external", got "${tool.effect}".`)
    }
  }
}
