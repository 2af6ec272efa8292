import {context, type Span, type SpanKind, SpanStatusCode, trace} from '@opentelemetry/api'
import {errorType} from '../../runtime/protocol/log-line.ts'
import type {TelemetryFields} from '../../runtime/protocol/telemetry.ts'

/** Resolved on every call, because the host may register an SDK later. */
export const tracer = () => trace.getTracer('holdfast')

/**
 * Runs `work` in a child span of the active one. Of an error only the code is recorded, since its message may contain
 * user data. [VIEW-5]
 */
export function inSpan<T>(
  name: string,
  kind: SpanKind,
  /** Called only if the span is recorded. */
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
