import type {Environment} from '../runtime/protocol/environment.ts'
import {limits} from '../runtime/protocol/version.ts'
import {createApp} from './app.ts'
import {openDueWorker} from './authority/open-due-worker.ts'
import {checkWebhooks, type Webhook} from './authority/webhooks.ts'
import {type Bus, createBus} from './bus.ts'
import {checkOperations} from './check-operations.ts'
import type {Operations} from './define-operation.ts'
import {serverEnvironment} from './environment.ts'
import type {FactSource} from './facts.ts'
import type {Authenticate} from './principal.ts'
import type {App} from './routes/http.ts'
import type {Models} from './routes/models.ts'
import type {Store} from './storage/store.ts'
import {repeat} from './sweep.ts'

export type {Environment} from '../runtime/protocol/environment.ts'
export {issueToken, type JwtAuthOptions, jwtAuth} from './auth.ts'
export type {Webhook} from './authority/webhooks.ts'
export {type Bus, createBus, type Poke} from './bus.ts'
export {
  type ApprovalRequest,
  type Authorisation,
  type ChangedFact,
  defineOperation,
  type OperationDefinition,
  OperationFailed,
  type OperationLimit,
  type OperationRequest,
  type Operations,
  type Reconciliation,
} from './define-operation.ts'
export {serverEnvironment} from './environment.ts'
export type {BoundFacts, FactChange, FactContext, FactSource, FactValue} from './facts.ts'
export type {Authenticate, Owner, Principal} from './principal.ts'
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
  /** Who is told outside, by signed webhooks; nobody unless told. */
  notify?: {webhooks: readonly Webhook[]}
  /**
   * Other processes work on the same database at the same time: what they have under way is left to them until their
   * leases run out. False unless told; then `start` takes over at once what an earlier process left.
   */
  sharesDatabase?: boolean
  limits?: {
    /** Bytes of a request body; 1 MiB unless told. */
    bodyBytes?: number
    /** Milliseconds between two looks for work that has become due; 5,000 unless told. */
    sweepMs?: number
    /** Milliseconds between two signs of life on a live stream; 15,000 unless told. */
    heartbeatMs?: number
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
  /** Resolves when no operation is under way. */
  idle(): Promise<void>
  /** Ends the live streams and waits for operations under way; the store stays open, it is the host's. */
  close(): Promise<void>
}

/**
 * Builds the server that has the last word on order, operations, approvals and custody.
 *
 * @throws HoldfastError `misconfigured` naming the operation, limit or webhook that cannot work
 * @example
 * const server = createSyncServer({store, authenticate: jwtAuth({secret, issuer, audience}), facts, operations: {}})
 * await server.start()
 * const answer = await server.fetch(new Request('http://localhost/healthz'))
 */
export function createSyncServer(options: SyncServerOptions): SyncServer {
  checkOperations(options.operations)
  const {store, facts, operations} = options
  const bus = options.bus ?? createBus()
  const environment = options.environment ?? serverEnvironment
  const onFault = options.onFault ?? (error => console.error(error))
  const webhooks = options.notify?.webhooks ?? []
  checkWebhooks(webhooks)
  const context = {store, facts, operations, bus, environment, webhooks, onFault}
  const worker = openDueWorker(context)
  const closing = new AbortController()
  const app = createApp({
    context,
    worker,
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
      stopSweep = repeat(worker.round, options.limits?.sweepMs ?? 5000, onFault)
      if (!options.sharesDatabase) await store.due.takeOver(environment.now())
      await worker.round()
    },
    idle: worker.idle,
    close: async () => {
      closing.abort()
      unsubscribe?.()
      await stopSweep?.()
      await worker.close()
    },
  }
}
