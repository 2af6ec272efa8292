import {Hono} from 'hono'
import {compress} from 'hono/compress'
import {cors} from 'hono/cors'
import {secureHeaders} from 'hono/secure-headers'
import {personHeader} from '../runtime/protocol/person.ts'
import {protocolHeader, revisionHeader} from '../runtime/protocol/wire.ts'
import type {DueWorker} from './authority/due-worker.ts'
import type {Eraser} from './authority/erase.ts'
import type {MemoryContext} from './authority/memory-context.ts'
import type {OperationContext} from './authority/operation-context.ts'
import type {BodyRoom} from './body-room.ts'
import type {StreamLimits} from './live-streams.ts'
import type {Models, TenantBudgets} from './models/config.ts'
import type {ModelGateway} from './models/gateway.ts'
import type {Authenticate} from './principal.ts'
import type {RateLimits} from './rate-limit.ts'
import {accessRoutes} from './routes/access.ts'
import {agentRoutes} from './routes/agents.ts'
import {approvalRoutes} from './routes/approvals.ts'
import {approverRoutes} from './routes/approvers.ts'
import {blobRoutes} from './routes/blobs.ts'
import {custodyRoutes} from './routes/custody.ts'
import {erasureRoutes} from './routes/erasures.ts'
import {eventRoutes} from './routes/events.ts'
import {factRoutes} from './routes/facts.ts'
import {
  authenticated,
  bodyWithinLimit,
  forThatPerson,
  noForgedCookies,
  notRevoked,
  speaksProtocol,
  withinRate,
} from './routes/guards.ts'
import {type HealthParts, healthRoutes} from './routes/health.ts'
import {type App, type Env, errorAnswer, isFault} from './routes/http.ts'
import {liveRoutes} from './routes/live.ts'
import {meRoutes} from './routes/me.ts'
import {memoryRoutes} from './routes/memory.ts'
import {modelRoutes} from './routes/models.ts'
import {noRoute} from './routes/no-route.ts'
import {openApiRoutes} from './routes/openapi.ts'
import {passportRoutes} from './routes/passports.ts'
import {runExportRoutes} from './routes/run-export.ts'
import {runRoutes} from './routes/runs.ts'
import {sessionRoutes} from './routes/sessions.ts'
import {subjectRoutes} from './routes/subjects.ts'
import {usageRoutes} from './routes/usage.ts'
import type {BlobRoom} from './storage/blob-shelf.ts'
import {refusals} from './telemetry/log.ts'
import type {Meters} from './telemetry/meters.ts'
import {requestFields, tracedRequests} from './telemetry/traced-requests.ts'

export type AppParts = {
  context: OperationContext
  worker: DueWorker
  memory: MemoryContext
  eraser: Eraser
  auditorRole: string
  rates: RateLimits
  authenticate: Authenticate
  models: Models
  gateway: ModelGateway
  budgets: TenantBudgets
  operatorRole: string
  cors: {origins: string[]} | null
  publisherRole: string
  bodyBytes: number
  bodyRoom: BodyRoom
  blobRoom: BlobRoom
  heartbeatMs: number
  streams: StreamLimits
  health: HealthParts
  meters: Meters
  closing: AbortSignal
}

/** Creates the Hono app. Guards come before the routes: protocol, caller and rate are checked before a body is read. */
export function createApp(parts: AppParts): App {
  const {context, worker} = parts
  const app = new Hono<Env>()
  // Both headers affect other paths and subdomains of the host, so the host must set them.
  app.use(secureHeaders({strictTransportSecurity: false, originAgentCluster: false}))
  if (parts.cors) app.use(crossOrigin(parts.cors.origins))
  healthRoutes(app, parts.health)
  openApiRoutes(app)
  app.use(tracedRequests(parts.meters))
  // Live streams are not compressed: their content type is excluded, and they send `no-transform`.
  app.use('/v1/*', compress({encoding: 'gzip'}))
  app.use('/v1/*', speaksProtocol(), noForgedCookies())
  app.use('/v1/*', authenticated(parts.authenticate, context.environment, context.onFault))
  app.use('/v1/*', notRevoked(context.store, context.environment), forThatPerson())
  app.use('/v1/*', withinRate(parts.rates, context.environment), bodyWithinLimit(parts.bodyRoom, parts.bodyBytes))
  meRoutes(app)
  eventRoutes(app, context, worker)
  sessionRoutes(app, context)
  blobRoutes(app, {...context, room: parts.blobRoom})
  custodyRoutes(app, context)
  approvalRoutes(app, context, worker)
  approverRoutes(app, context, parts.eraser.operatorRole)
  factRoutes(app, context.facts)
  runRoutes(app, context)
  agentRoutes(app, {...context, publisherRole: parts.publisherRole})
  erasureRoutes(app, parts.eraser)
  subjectRoutes(app, parts.eraser)
  accessRoutes(app, parts.eraser, parts.auditorRole)
  passportRoutes(app, context)
  memoryRoutes(app, parts.memory)
  runExportRoutes(app, context.store, context.environment)
  modelRoutes(app, parts.models, parts.gateway, parts.heartbeatMs)
  usageRoutes(app, {...context, budgets: parts.budgets, operatorRole: parts.operatorRole})
  liveRoutes(app, {...context, heartbeatMs: parts.heartbeatMs, closing: parts.closing, streams: parts.streams})
  app.notFound(noRoute(app))
  const tellRefusal = refusals(context.log, context.environment.now)
  app.onError((error, c) => {
    if (isFault(error)) context.onFault(error, {fields: requestFields(c)})
    else tellRefusal(error, () => requestFields(c))
    return errorAnswer(c, error)
  })
  return app
}

function crossOrigin(origins: string[]) {
  return cors({
    origin: origins,
    allowHeaders: [
      'authorization',
      'content-type',
      protocolHeader,
      revisionHeader,
      personHeader,
      'traceparent',
      'tracestate',
    ],
    // For the cookies of a host's own login. Browsers reject credentials together with "*".
    credentials: !origins.includes('*'),
    exposeHeaders: [protocolHeader, revisionHeader, 'retry-after'],
    allowMethods: ['GET', 'POST', 'PUT'],
    maxAge: 600,
  })
}
