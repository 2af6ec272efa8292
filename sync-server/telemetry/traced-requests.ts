import {context, propagation, SpanKind, trace} from '@opentelemetry/api'
import type {MiddlewareHandler} from 'hono'
import {matchedRoutes} from 'hono/route'
import {runIdSchema, sessionIdSchema} from '../../runtime/protocol/ids.ts'
import type {TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import type {Ctx, Env} from '../routes/http.ts'
import {methodLabel, routeLabel} from './closed-labels.ts'
import {type Meters, secondsSince} from './meters.ts'
import {failSpan, tracer} from './spans.ts'

/**
 * Creates a span per request, as a child of the device's trace. It ends with the response head: a stream may last for
 * hours, and its work has spans of its own. [OBS-1]
 */
export function tracedRequests(meters: Meters): MiddlewareHandler<Env> {
  return async (c, next) => {
    const startedAt = performance.now()
    const parent = propagation.extract(context.active(), c.req.header())
    const span = tracer().startSpan(methodLabel(c.req.method), {kind: SpanKind.SERVER}, parent)
    await context.with(trace.setSpan(parent, span), next)
    const route = routeOf(c)
    const status = c.res.status
    if (span.isRecording()) {
      span.updateName(`${methodLabel(c.req.method)} ${route}`)
      span.setAttributes({...requestFields(c, route), 'http.response.status_code': status})
      if (status >= 500) failSpan(span, String(status))
    }
    span.end()
    const labels = {method: methodLabel(c.req.method), route, status: String(status)}
    meters.record('http.server.request.duration', labels, secondsSince(startedAt))
  }
}

/** Returns the fields that a request itself provides, without a lookup. */
export function requestFields(c: Ctx, route = routeOf(c)): TelemetryFields {
  const principal = c.get('principal')
  const session = sessionIdSchema.safeParse(c.req.param('session'))
  const run = runIdSchema.safeParse(c.req.param('run'))
  return {
    'http.request.method': methodLabel(c.req.method),
    'http.route': route,
    ...(principal && {'holdfast.tenant': principal.tenant}),
    ...(session.success && {'holdfast.session_id': session.data, 'gen_ai.conversation.id': session.data}),
    ...(run.success && {'holdfast.run_id': run.data}),
  }
}

function routeOf(c: Ctx): string {
  return routeLabel(matchedRoutes(c).map(({path}) => path))
}
