import {context, type Span, SpanKind} from '@opentelemetry/api'
import {sessionFields, type TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import type {ObserveCall, ObservedCall} from '../models/gateway.ts'
import type {PartStream} from '../models/generation.ts'
import type {Store} from '../storage/store.ts'
import {type Meters, secondsSince} from './meters.ts'
import {errorType, failSpan, tracer} from './spans.ts'

/** Goes around each call of a provider: a span and the two GenAI metrics; what is said passes by unread. [OBS-1] */
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
  return {
    'holdfast.tenant': ref.tenant,
    ...(state && sessionFields(ref.tenant, state)),
    // The device is ahead of the log that the server has: what it names is what the call is for.
    ...(name && {
      'holdfast.session_id': name.session,
      'gen_ai.conversation.id': name.session,
      'holdfast.run_id': name.run,
      'holdfast.step_id': name.step,
      'holdfast.attempt': name.attempt,
      'holdfast.try': name.try,
    }),
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
