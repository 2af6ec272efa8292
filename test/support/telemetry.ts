import {AsyncLocalStorage} from 'node:async_hooks'
import {
  type Context,
  type ContextManager,
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type TextMapPropagator,
  trace,
} from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor} from '@opentelemetry/sdk-trace-base'

/** What every span and every line about a run must carry. [OBS-1] */
export const runFields = [
  'holdfast.tenant',
  'holdfast.session_id',
  'holdfast.run_id',
  'holdfast.correlation_id',
  'holdfast.attempt',
  'holdfast.epoch',
  'holdfast.step',
  'holdfast.route',
  'holdfast.route_table',
  'holdfast.agent_version',
  'holdfast.tools_hash',
  'holdfast.model',
  'holdfast.policy',
  'holdfast.max_steps',
  'gen_ai.agent.name',
  'gen_ai.conversation.id',
]

/** Registers an SDK as an application would, and keeps everything that it exports. */
export function recordTelemetry() {
  const spans = new InMemorySpanExporter()
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({exporter, exportIntervalMillis: 3_600_000})
  trace.setGlobalTracerProvider(new BasicTracerProvider({spanProcessors: [new SimpleSpanProcessor(spans)]}))
  metrics.setGlobalMeterProvider(new MeterProvider({readers: [reader]}))
  context.setGlobalContextManager(followingContext())
  propagation.setGlobalPropagator(traceparent)
  return {
    spans: () => spans.getFinishedSpans(),
    metrics: async () => {
      await reader.forceFlush()
      const scopes = exporter.getMetrics().flatMap(({scopeMetrics}) => scopeMetrics)
      return scopes.flatMap(scope => scope.metrics)
    },
    stop: async () => {
      for (const api of [trace, metrics, context, propagation]) api.disable()
      await reader.shutdown()
    },
  }
}

/** A context that follows awaits, as hosts on Node have one. */
function followingContext(): ContextManager {
  const storage = new AsyncLocalStorage<Context>()
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => storage.run(active, () => work.apply(self as never, args)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  return manager
}

/** The W3C header, as far as a test needs it. */
const traceparent: TextMapPropagator = {
  fields: () => ['traceparent'],
  inject(from, carrier, setter) {
    const span = trace.getSpanContext(from)
    if (span) setter.set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-01`)
  },
  extract(into, carrier, getter) {
    const [header] = [getter.get(carrier, 'traceparent') ?? []].flat()
    const [, traceId, spanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(header ?? '') ?? []
    return traceId && spanId ? trace.setSpanContext(into, {traceId, spanId, traceFlags: 1, isRemote: true}) : into
  },
}
