import {context, type Span, type SpanKind, SpanStatusCode, trace} from '@opentelemetry/api'
import {errorType} from '../../runtime/protocol/log-line.ts'
import type {TelemetryFields} from '../../runtime/protocol/telemetry.ts'

/** Asked anew each time, so that an SDK may be registered at any time before. */
export const tracer = () => trace.getTracer('holdfast')

/** Runs work in a span under the active one; of an error only its code is told, since its words may be anybody's. [VIEW-5] */
export function inSpan<T>(
  name: string,
  kind: SpanKind,
  /** Asked only while somebody records. */
  fields: () => TelemetryFields | Promise<TelemetryFields>,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracer().startSpan(name, {kind})
  return context.with(trace.setSpan(context.active(), span), async () => {
    try {
      if (span.isRecording()) span.setAttributes(await fields())
      return await work(span)
    } catch (error) {
      failSpan(span, errorType(error))
      throw error
    } finally {
      span.end()
    }
  })
}

export function failSpan(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({code: SpanStatusCode.ERROR})
}
