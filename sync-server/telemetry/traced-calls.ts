import {context, type Span, SpanKind} from '@opentelemetry/api'
import {errorType, type Log} from '../../runtime/protocol/log-line.ts'
import type {ModelFailure} from '../../runtime/protocol/model-call.ts'
import {modelCallFields, sessionFields, type TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import type {ObserveCall, ObservedCall} from '../models/gateway.ts'
import type {PartStream} from '../models/language-model.ts'
import type {Store} from '../storage/store.ts'
import {type Meters, secondsSince} from './meters.ts'
import {failSpan, tracer} from './spans.ts'

/**
 * Wraps each provider call in a span and records the two GenAI metrics. Parts are passed on unchanged and not
 * recorded. [OBS-1]
 */
export function tracedCalls(store: Store, meters: Meters): ObserveCall {
  return async (call, ask) => {
    const labels = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': call.provider,
      'gen_ai.request.model': call.model,
    }
    const span = tracer().startSpan(`chat ${call.model}`, {kind: SpanKind.CLIENT}, context.active())
    if (span.isRecording()) span.setAttributes({...(await fieldsOf(store, call)), ...labels})
    const startedAt = performance.now()
    let over = false
    const end = (error: unknown) => {
      if (over) return
      over = true
      if (error !== null) failSpan(span, errorType(error))
      span.end()
      const outcome = {...labels, ...(error !== null && {'error.type': errorType(error)})}
      meters.record('gen_ai.client.operation.duration', outcome, secondsSince(startedAt))
    }
    try {
      return watched(await ask(), span, meters, labels, end)
    } catch (error) {
      end(error)
      throw error
    }
  }
}

async function fieldsOf({sessions}: Store, {ref, name}: ObservedCall): Promise<TelemetryFields> {
  const state = name && (await sessions.state(ref, name.session))
  return {...(state && sessionFields(ref.tenant, state)), ...modelCallFields(ref.tenant, name)}
}

/** Logs a failed call with the kind of failure and the provider's text about the account or service. [VIEW-5] */
export function toldFailures(store: Store, log: Log) {
  return async (
    call: ObservedCall,
    {reason, retryable}: ModelFailure,
    {system, words}: {system: string; words?: string},
  ): Promise<void> => {
    log(
      'model.failed',
      {
        ...(await fieldsOf(store, call).catch(() => modelCallFields(call.ref.tenant, call.name))),
        'gen_ai.provider.name': call.provider,
        'gen_ai.request.model': call.model,
        'holdfast.retryable': String(retryable),
      },
      {code: 'model_failed', system: [reason, system].filter(text => text !== '').join(' '), ...(words && {words})},
    )
  }
}

function watched(
  stream: PartStream,
  span: Span,
  meters: Meters,
  labels: Record<string, string>,
  end: (error: unknown) => void,
): PartStream {
  const reader = stream.getReader()
  const tokens = (type: string, count: number | undefined) => {
    if (count === undefined) return
    span.setAttribute(`gen_ai.usage.${type}_tokens`, count)
    meters.record('gen_ai.client.token.usage', {...labels, 'gen_ai.token.type': type}, count)
  }
  return new ReadableStream(
    {
      pull: async out => {
        try {
          const {done, value} = await reader.read()
          if (done) {
            end(null)
            return out.close()
          }
          if (value.type === 'error') end(value.error)
          if (value.type === 'finish') {
            span.setAttribute('gen_ai.response.finish_reasons', [value.finishReason.unified])
            tokens('input', value.usage.inputTokens.total)
            tokens('output', value.usage.outputTokens.total)
            end(null)
          }
          out.enqueue(value)
        } catch (error) {
          end(error)
          out.error(error)
        }
      },
      cancel: reason => {
        end(reason ?? new DOMException('The generation was ended.', 'AbortError'))
        return reader.cancel(reason)
      },
    },
    {highWaterMark: 0},
  )
}
