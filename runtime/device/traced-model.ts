import type {LanguageModelV4CallOptions, LanguageModelV4StreamPart} from '@ai-sdk/provider'
import {type Context, metrics, propagation, type Span, SpanKind, type Tracer, trace} from '@opentelemetry/api'
import {
  type LanguageModel,
  type ModelCallOptions,
  type ModelStream,
  type ModelStreamPart,
  streamOf,
} from '../loop/language-model.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {errorType} from '../protocol/log-line.ts'
import {modelCallOption, modelCallSchema} from '../protocol/model-call.ts'
import {countedUsage} from '../protocol/model-finish.ts'
import type {TelemetryFields} from '../protocol/telemetry.ts'
import {failSpan} from './spans.ts'

export type ModelTracing = {
  tracer: Tracer
  /** The span of the step that makes this run's calls, and the fields of its session. */
  of(run: string | null): {parent: Context; fields: TelemetryFields}
}

/** Wraps a model with a span and the two GenAI metrics for each call. The content passes through unread. [OBS-1] */
export function tracedModel(model: LanguageModel, tracing: ModelTracing): LanguageModel {
  const {provider, modelId} = model
  const common = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': modelId,
  }
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: () => Promise.reject(new HoldfastError('misconfigured', 'a traced model streams; call doStream')),
    async doStream(given: LanguageModelV4CallOptions) {
      // A view's prompt has no file parts, the only ones that differ between the two versions of the specification.
      const options = given as ModelCallOptions
      const named = modelCallSchema.safeParse(options.providerOptions?.[modelCallOption])
      const {parent, fields} = tracing.of(named.success ? named.data.run : null)
      const span = tracing.tracer.startSpan(`chat ${modelId}`, {kind: SpanKind.CLIENT}, parent)
      const settings = {
        ...(options.maxOutputTokens !== undefined && {'gen_ai.request.max_tokens': options.maxOutputTokens}),
        ...(options.temperature !== undefined && {'gen_ai.request.temperature': options.temperature}),
        ...(named.success && {'holdfast.try': named.data.try}),
      }
      if (span.isRecording()) span.setAttributes({...fields, ...common, ...settings})
      const watch = new CallWatch(span, common)
      try {
        const traced = provider === 'gateway' ? withTrace(options, trace.setSpan(parent, span)) : options
        return {stream: watch.through(await streamOf(model, traced))}
      } catch (error) {
        watch.end(error)
        throw error
      }
    },
  }
}

/** Adds trace headers for our own gateway only. A third-party server must not get them. */
function withTrace<O extends {headers?: Record<string, string | undefined>}>(options: O, active: Context): O {
  const carrier: Record<string, string> = {}
  propagation.inject(active, carrier)
  return Object.keys(carrier).length === 0 ? options : {...options, headers: {...options.headers, ...carrier}}
}

class CallWatch {
  readonly #startedAt = performance.now()
  #over = false

  constructor(
    private readonly span: Span,
    private readonly common: Record<string, string>,
  ) {}

  through(inner: ModelStream): ReadableStream<LanguageModelV4StreamPart> {
    // Parts of both versions of the specification pass through as they are.
    const reader = inner.getReader()
    return new ReadableStream<LanguageModelV4StreamPart>(
      {
        pull: async out => {
          try {
            const {done, value} = await reader.read()
            if (done) return this.#close(out)
            this.#look(value)
            out.enqueue(value as LanguageModelV4StreamPart)
          } catch (error) {
            this.end(error)
            out.error(error)
          }
        },
        cancel: reason => {
          this.end(reason)
          return reader.cancel(reason)
        },
        // Pulls only when the reader pulls, as the untraced stream does.
      },
      {highWaterMark: 0},
    )
  }

  end(error: unknown): void {
    if (this.#over) return
    this.#over = true
    if (error !== null) failSpan(this.span, error)
    this.span.end()
    const labels = {...this.common, ...(error !== null && {'error.type': errorType(error)})}
    meter().createHistogram('gen_ai.client.operation.duration', {unit: 's'}).record(this.#seconds, labels)
  }

  get #seconds(): number {
    return (performance.now() - this.#startedAt) / 1000
  }

  #close(out: ReadableStreamDefaultController): void {
    this.end(null)
    out.close()
  }

  #look(part: ModelStreamPart | null | undefined): void {
    if (part?.type === 'error') this.end(part.error)
    if (part?.type !== 'finish') return
    const {finishReason, usage} = part
    const {inputTokens: input, outputTokens: output} = countedUsage(usage)
    this.span.setAttributes({
      'gen_ai.response.finish_reasons': [finishReason?.unified ?? 'unknown'],
      ...(input !== null && {'gen_ai.usage.input_tokens': input}),
      ...(output !== null && {'gen_ai.usage.output_tokens': output}),
    })
    const tokens = meter().createHistogram('gen_ai.client.token.usage', {unit: '{token}'})
    if (input !== null) tokens.record(input, {...this.common, 'gen_ai.token.type': 'input'})
    if (output !== null) tokens.record(output, {...this.common, 'gen_ai.token.type': 'output'})
  }
}

/** Not cached: an application may register its SDK later. */
function meter() {
  return metrics.getMeter('holdfast')
}
