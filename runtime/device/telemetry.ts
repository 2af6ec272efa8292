import {type Context, context, metrics, SpanKind, trace} from '@opentelemetry/api'
import type {AgentHost, ModelSource, ToolContext} from '../loop/define.ts'
import type {LanguageModel} from '../loop/language-model.ts'
import type {AroundStep} from '../loop/perform-step.ts'
import {sessionFields, type TelemetryFields} from '../protocol/telemetry.ts'
import type {DeviceLog} from './device-log.ts'
import {inSpan, tracerName} from './spans.ts'
import {type ModelTracing, tracedModel} from './traced-model.ts'

/**
 * OpenTelemetry around a device: a span for each step of a run, and in it one for each model call and each tool. The
 * loop itself knows nothing of it; without a registered SDK the spans are the API's own empty ones. [OBS-1]
 */
export type DeviceTelemetry = {
  around: AroundStep
  hosts(hosts: readonly AgentHost[]): AgentHost[]
}

type StepSpan = {parent: Context; fields: TelemetryFields}

export function deviceTelemetry(tenant: () => string | null, lines: DeviceLog): DeviceTelemetry {
  const tracer = trace.getTracer(tracerName)
  /** The current step of each run. Browsers have no async context through which a model call could find it. */
  const steps = new Map<string, StepSpan>()
  const of = (run: string | null): StepSpan => steps.get(run ?? '') ?? {parent: context.active(), fields: {}}

  const around: AroundStep = (step, log, perform) => {
    const run = log.state.run?.id
    const fields = () => ({...sessionFields(tenant(), log.state), 'holdfast.step_kind': step.do})
    const plan = {name: `holdfast.step ${step.do}`, kind: SpanKind.INTERNAL, parent: context.active(), fields}
    return inSpan(tracer, plan, async (span, own) => {
      const recording = span.isRecording()
      if (run && recording) steps.set(run, {parent: own, fields: sessionFields(tenant(), log.state)})
      const startedAt = performance.now()
      try {
        await perform()
        lines.stepDone(step, log)
        // What the step has made of the run: its first step pins it.
        if (recording) span.setAttributes(fields())
      } catch (error) {
        lines.stepFailed(step, log, error)
        throw error
      } finally {
        if (run) steps.delete(run)
        metrics
          .getMeter(tracerName)
          .createHistogram('holdfast.step.duration', {unit: 's'})
          .record((performance.now() - startedAt) / 1000, {'holdfast.step_kind': step.do})
      }
    })
  }

  const tracing: ModelTracing = {tracer, of}
  return {
    around,
    hosts: hosts =>
      hosts.map(host => ({...host, model: tracedSource(host.model, tracing), tools: tracedTools(host.tools, tracing)})),
  }
}

function tracedSource(source: ModelSource, tracing: ModelTracing): ModelSource {
  const traced = (model: LanguageModel) => tracedModel(model, tracing)
  return typeof source === 'function' ? async host => traced(await source(host)) : traced(source)
}

type ToolFunction = (input: unknown, context: ToolContext) => unknown

function tracedTools(tools: AgentHost['tools'], {tracer, of}: ModelTracing): AgentHost['tools'] {
  const traced = Object.entries(tools as Record<string, ToolFunction>).map(([name, run]): [string, ToolFunction] => [
    name,
    (input, toolContext) => {
      const {parent, fields} = of(toolContext.run)
      const own = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': toolContext.call,
      }
      const plan = {name: `execute_tool ${name}`, kind: SpanKind.INTERNAL, parent, fields: () => ({...fields, ...own})}
      return inSpan(tracer, plan, async () => run(input, toolContext))
    },
  ])
  return Object.fromEntries(traced) as AgentHost['tools']
}
