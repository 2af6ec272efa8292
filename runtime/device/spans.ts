import {type Context, type Span, type SpanKind, SpanStatusCode, type Tracer, trace} from '@opentelemetry/api'
import {errorType} from '../protocol/log-line.ts'
import type {TelemetryFields} from '../protocol/telemetry.ts'

export const tracerName = 'holdfast'

export type SpanPlan = {
  name: string
  kind: SpanKind
  /** Explicit, because a browser has no context that follows an await. */
  parent: Context
  /** Called only while the span is recorded. */
  fields(): TelemetryFields
}

/** Runs work in its own span. Only the code of an error is recorded: its message may contain content. [VIEW-5] */
export async function inSpan<T>(
  tracer: Tracer,
  {name, kind, parent, fields}: SpanPlan,
  work: (span: Span, context: Context) => Promise<T>,
): Promise<T> {
  const span = tracer.startSpan(name, {kind}, parent)
  if (span.isRecording()) span.setAttributes(fields())
  try {
    return await work(span, trace.setSpan(parent, span))
  } catch (error) {
    failSpan(span, error)
    throw error
  } finally {
    span.end()
  }
}

export function failSpan(span: Span, error: unknown): void {
  span.setAttribute('error.type', errorType(error))
  span.setStatus({code: SpanStatusCode.ERROR})
}
