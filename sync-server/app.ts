import {Hono} from 'hono'
import {cors} from 'hono/cors'
import {secureHeaders} from 'hono/secure-headers'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {protocolHeader} from '../runtime/protocol/wire.ts'
import type {DueWorker} from './authority/due-worker.ts'
import type {Eraser} from './authority/erase.ts'
import type {OperationContext} from './authority/operation-context.ts'
import type {Models, TenantBudgets} from './model-config.ts'
import type {ModelGateway} from './model-gateway.ts'
import type {Authenticate} from './principal.ts'
import {approvalRoutes} from './routes/approvals.ts'
import {approverRoutes} from './routes/approvers.ts'
import {custodyRoutes} from './routes/custody.ts'
import {erasureRoutes} from './routes/erasures.ts'
import {eventRoutes} from './routes/events.ts'
import {factRoutes} from './routes/facts.ts'
import {authenticated, bodyWithinLimit, speaksProtocol} from './routes/guards.ts'
import {type App, type Env, errorAnswer, isFault} from './routes/http.ts'
import {liveRoutes} from './routes/live.ts'
import {modelRoutes} from './routes/models.ts'
import {passportRoutes} from './routes/passports.ts'
import {runRoutes} from './routes/runs.ts'
import {sessionRoutes} from './routes/sessions.ts'
import {usageRoutes} from './routes/usage.ts'

export type AppParts = {
  context: OperationContext
  worker: DueWorker
  eraser: Eraser
  authenticate: Authenticate
  models: Models
  gateway: ModelGateway
  budgets: TenantBudgets
  operatorRole: string
  cors: {origins: string[]} | null
  bodyBytes: number
  heartbeatMs: number
  closing: AbortSignal
}

/** Puts the guards before the routes: protocol, size, caller, and only then anything that reads the request. */
export function createApp(parts: AppParts): App {
  const {context, worker} = parts
  const app = new Hono<Env>()
  app.use(secureHeaders())
  if (parts.cors) app.use(crossOrigin(parts.cors.origins))
  app.get('/healthz', c => c.json({ok: true}))
  app.use('/v1/*', speaksProtocol(), authenticated(parts.authenticate), bodyWithinLimit(parts.bodyBytes))
  eventRoutes(app, context, worker)
  sessionRoutes(app, context)
  custodyRoutes(app, context)
  approvalRoutes(app, context, worker)
  approverRoutes(app, context)
  factRoutes(app, context.facts)
  erasureRoutes(app, parts.eraser)
  passportRoutes(app, context.store)
  modelRoutes(app, parts.models, parts.gateway, parts.heartbeatMs)
  usageRoutes(app, {...context, budgets: parts.budgets, operatorRole: parts.operatorRole})
  runRoutes(app, context)
  liveRoutes(app, {...context, heartbeatMs: parts.heartbeatMs, closing: parts.closing})
  app.notFound(c => errorAnswer(c, new HoldfastError('not_found', 'No such route.')))
  app.onError((error, c) => {
    if (isFault(error)) context.onFault(error)
    return errorAnswer(c, error)
  })
  return app
}

function crossOrigin(origins: string[]) {
  return cors({
    origin: origins,
    allowHeaders: ['authorization', 'content-type', protocolHeader],
    exposeHeaders: [protocolHeader],
    allowMethods: ['GET', 'POST'],
    maxAge: 600,
  })
}
