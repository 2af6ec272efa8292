import {errorType, loggedError} from '../runtime/protocol/log-line.ts'
import {limits} from '../runtime/protocol/version.ts'
import {createApp} from './app.ts'
import type {Authority, FaultPlace} from './authority/authority.ts'
import type {Eraser} from './authority/erase.ts'
import {memoryLayer} from './authority/memory-layer.ts'
import {memorySearch} from './authority/memory-search.ts'
import {openDueWorker} from './authority/open-due-worker.ts'
import {confirm, fileSweeper} from './authority/sweep-erased-files.ts'
import {checkWebhooks} from './authority/webhooks.ts'
import {standardBodyRoom} from './body-room.ts'
import {createBus} from './bus.ts'
import {checkOperations} from './check-operations.ts'
import {checkServerOptions} from './check-server-options.ts'
import {clockInDoubt} from './clock.ts'
import {serverEnvironment} from './environment.ts'
import {erasedFilesOf, rewriteStart} from './erased-files.ts'
import {noFacts} from './facts.ts'
import {standardStreams} from './live-streams.ts'
import {askTheSubject} from './memory-policy.ts'
import {ModelGateway} from './models/gateway.ts'
import {type OpenApiDocument, openApiDocument} from './openapi.ts'
import {ownLayers} from './own-layers.ts'
import {createPulse} from './pulse.ts'
import {standardRates} from './rate-limit.ts'
import {retentionOf} from './retention.ts'
import type {App} from './routes/http.ts'
import {routesOf} from './routes/route.ts'
import type {SyncServerOptions} from './server-options.ts'
import {repeat, sweepOnce, tellSwept} from './sweep.ts'
import {serverLog} from './telemetry/log.ts'
import {createMeters} from './telemetry/meters.ts'
import {createRegistry} from './telemetry/registry.ts'
import {toldFailures, tracedCalls} from './telemetry/traced-calls.ts'
import {tracedOperations} from './telemetry/traced-operations.ts'
import {tracedStore} from './telemetry/traced-store.ts'

export type {Embedder} from '../runtime/protocol/embedder.ts'
export type {Environment} from '../runtime/protocol/environment.ts'
export {HoldfastError} from '../runtime/protocol/errors.ts'
export type {LogEvent, LoggedError, LogLevel, LogLine} from '../runtime/protocol/log-line.ts'
export {issueToken, type JwtAuthOptions, jwtAuth} from './auth.ts'
export type {Webhook} from './authority/webhooks.ts'
export type {BodyRoom} from './body-room.ts'
export {type Bus, createBus, type Poke} from './bus.ts'
export type {DataLayer, ErasureScope} from './data-layer.ts'
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
export type {ErasedFilesOptions} from './erased-files.ts'
export type {BoundFacts, FactChange, FactContext, FactSource, FactValue} from './facts.ts'
export type {KeySetTimes} from './key-set.ts'
export type {MemoryOptions, MemoryPolicy, MemoryQuestion, MemoryRuling} from './memory-policy.ts'
export type {ModelAllowance, ModelOffer, ModelPrices, Models, TenantBudget, TenantBudgets} from './models/config.ts'
export type {GatewayLimits} from './models/gateway.ts'
export type {OpenApiDocument} from './openapi.ts'
export type {Authenticate, Caller, Owner, Principal} from './principal.ts'
export type {Rate, RateLimits} from './rate-limit.ts'
export type {Days, LayerRule, Retention} from './retention.ts'
export type {SyncServerOptions} from './server-options.ts'
export type {BlobRoom} from './storage/blob-shelf.ts'
export type {ErasedMemory, MemoryStore} from './storage/memory-store.ts'
export {openPgStore} from './storage/pg-store.ts'
export {type PGliteLike, pgliteSql} from './storage/pglite-sql.ts'
export {type Opening, type ReopeningOptions, reopeningSql} from './storage/reopening-sql.ts'
export type {Sql} from './storage/sql.ts'
export type {Store} from './storage/store.ts'

export type SyncServer = {
  app: App
  fetch(request: Request): Response | Promise<Response>
  /** Returns the routes as an OpenAPI 3.1 document, the same that `GET /v1/openapi.json` serves. */
  openApiDocument(): OpenApiDocument
  /** Takes over the unfinished work of an earlier process and starts the periodic sweep. Idempotent. */
  start(): Promise<void>
  /**
   * Runs one round of timed work: due operations, expiry, retention, erasure. `start` repeats it; a serverless host
   * calls it from a schedule.
   */
  sweep(): Promise<void>
  /**
   * Confirms that no database file (tables, write-ahead log, standbys, backups) still contains data that was erased
   * before `startedAt`, the time at which the operator began to rewrite the files (ms since 1970, server clock).
   * Completes the waiting erasure receipts of all tenants and returns their number.
   *
   * @throws HoldfastError `bad_input` if `startedAt` is not a time, or lies in the future
   * @example
   * const startedAt = Date.now()
   * // VACUUM (FULL) the tables, drop old write-ahead log segments and backups, then:
   * await server.filesRewritten(startedAt)
   */
  filesRewritten(startedAt: number): Promise<number>
  /** Resolves when no operation is running and every memory has its vector. */
  idle(): Promise<void>
  /** Ends the live streams and waits for running operations. The store stays open: the host closes it. */
  close(): Promise<void>
}

/**
 * Creates the sync server, the authority on the order of events, operations, approvals and custody.
 *
 * @throws HoldfastError `misconfigured` naming every invalid or unknown option
 * @example
 * const server = createSyncServer({store, authenticate: jwtAuth({secret, issuer, audience})})
 * await server.start()
 * const response = await server.fetch(new Request('http://localhost/healthz'))
 */
export function createSyncServer(options: SyncServerOptions): SyncServer {
  checkServerOptions(options)
  const {facts = noFacts, operations: defined = {}} = options
  checkOperations(defined)
  const retention = retentionOf(options.retention)
  const registry = options.metrics ? createRegistry() : null
  const meters = createMeters(registry)
  const environment = options.environment ?? serverEnvironment
  const log = serverLog(options.log, environment)
  const store = tracedStore(options.store, meters, log, Object.keys(defined))
  const operations = tracedOperations(defined, store, meters)
  const bus = options.bus ?? createBus()
  const tellFault = options.onFault ?? (options.log ? () => undefined : console.error)
  const onFault = (error: unknown, {event = 'server.fault', fields = {}}: FaultPlace = {}) => {
    meters.add('holdfast.faults', {'error.type': errorType(error)})
    log(event, fields, loggedError(error))
    tellFault(error)
  }
  const sweepMs = options.limits?.sweepMs ?? 5000
  const pulse = createPulse(environment, sweepMs)
  const webhooks = options.notify?.webhooks ?? []
  checkWebhooks(webhooks)
  const context = {store, facts, operations, bus, environment, webhooks, onFault, log}
  const inDoubt = clockInDoubt(
    environment,
    environment.monotonic ?? (options.environment ? null : () => performance.now()),
  )
  const worker = openDueWorker(context, inDoubt)
  const search = memorySearch(context, options.memory?.embedder ?? null)
  const memory = {...context, search, policy: options.memory?.policy ?? askTheSubject}
  const layers = [...ownLayers(store), memoryLayer(memory), ...(options.layers ?? [])]
  const eraser = {...context, layers, ...eraserOf(options)}
  const {models = {}, budgets = []} = options
  const gateway = new ModelGateway({
    ...context,
    models,
    budgets,
    observe: tracedCalls(store, meters),
    onFailed: toldFailures(store, log),
    ...(options.limits?.models && {limits: options.limits.models}),
  })
  const sweepFiles = fileSweeper(eraser)
  const sweep = async () => {
    tellSwept(log, await sweepOnce({worker, eraser, gateway, retention, memory, sweepFiles, inDoubt}))
  }
  const closing = new AbortController()
  const app = createApp({
    context,
    worker,
    memory,
    eraser,
    auditorRole: options.roles?.auditor ?? 'auditor',
    bodyRoom: {...standardBodyRoom, ...options.limits?.bodies},
    rates: {...standardRates, ...options.limits?.rates},
    authenticate: options.authenticate,
    models,
    gateway,
    budgets,
    operatorRole: options.roles?.operator ?? 'operator',
    cors: options.cors ?? null,
    publisherRole: options.roles?.publisher ?? 'publisher',
    bodyBytes: options.limits?.bodyBytes ?? limits.bodyBytes,
    blobRoom: {sessionBytes: limits.sessionBlobBytes, tenantBytes: 10 * 1024 ** 3, ...options.limits?.blobs},
    heartbeatMs: options.limits?.heartbeatMs ?? 15_000,
    streams: {...standardStreams, ...options.limits?.streams},
    meters,
    health: {
      store: store.health,
      driver: pulse.state,
      metrics: registry && options.metrics ? {...options.metrics, registry} : null,
    },
    closing: closing.signal,
  })
  const unsubscribe = facts.changes?.(change => bus.publish({type: 'fact', ...change}))
  let stopSweep: (() => Promise<void>) | null = null

  return {
    app,
    fetch: request => app.fetch(request),
    openApiDocument: () => openApiDocument(routesOf(app)),
    start: async () => {
      if (stopSweep || closing.signal.aborted) return
      stopSweep = repeat(
        () => sweep().then(pulse.beat),
        sweepMs,
        error => onFault(error, {event: 'sweep.failed'}),
      )
      try {
        if (!options.sharesDatabase) await store.due.takeOver(environment.now())
        await worker.round()
      } catch (error) {
        // The host can call `start` again.
        await stopSweep()
        stopSweep = null
        throw error
      }
      pulse.beat()
      log('server.started', {})
    },
    idle: async () => {
      await worker.idle()
      await search.idle()
    },
    sweep,
    filesRewritten: async startedAt => confirm(eraser, rewriteStart(startedAt, environment.now())),
    close: async () => {
      closing.abort()
      unsubscribe?.()
      await stopSweep?.()
      await gateway.close()
      await worker.close()
      await search.close()
      log('server.stopped', {})
    },
  }
}

function eraserOf({roles, erasure, store}: SyncServerOptions): Omit<Eraser, keyof Authority | 'layers'> {
  return {
    operatorRole: roles?.operator ?? 'operator',
    files: erasedFilesOf(erasure, () => store.files.possible),
  }
}
