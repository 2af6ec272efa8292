import type {LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart} from '@ai-sdk/provider'

/** One expected model call: what it answers, or how it fails. */
export type ScriptedStep = {
  /** Looks at what the model was sent; throw to fail the test. */
  expect?: (options: LanguageModelV3CallOptions) => void
  text?: string
  calls?: {tool: string; input: unknown; id?: string}[]
  /** Throws instead of answering. */
  error?: unknown
  /** Ends the stream without its `finish` part, as a broken connection does. */
  breakOff?: boolean
  /** Waits before the first part, so that a test can act in between. */
  until?: Promise<unknown>
}

export type ScriptedModel = LanguageModelV3 & {
  /** Every call so far, with exactly what was sent. */
  readonly calls: LanguageModelV3CallOptions[]
  /** Throws when steps are left that no call used. */
  done(): void
}

/**
 * A model that answers from a script and fails on a call that the script does not have.
 *
 * @example
 * const model = scriptedModel([{calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}]}, {text: 'It is on its way.'}])
 */
export function scriptedModel(steps: readonly ScriptedStep[]): ScriptedModel {
  const calls: LanguageModelV3CallOptions[] = []
  return {
    specificationVersion: 'v3',
    provider: 'holdfast-testing',
    modelId: 'scripted',
    supportedUrls: {},
    calls,
    doGenerate: () => Promise.reject(new Error('scriptedModel streams; call doStream')),
    async doStream(options) {
      const step = steps[calls.length]
      calls.push(options)
      if (!step)
        throw new Error(`scriptedModel: call ${calls.length} was not expected; the script has ${steps.length} steps`)
      step.expect?.(options)
      await step.until
      if (step.error !== undefined) throw step.error
      return {stream: streamOf(partsOf(step, calls.length))}
    },
    done() {
      if (calls.length !== steps.length)
        throw new Error(`scriptedModel: ${steps.length - calls.length} of ${steps.length} steps were never used`)
    },
  }
}

function partsOf(step: ScriptedStep, number: number): LanguageModelV3StreamPart[] {
  const parts: LanguageModelV3StreamPart[] = [{type: 'stream-start', warnings: []}]
  if (step.text !== undefined) {
    parts.push({type: 'text-start', id: 't'})
    for (const piece of step.text.match(/\S+\s*|\s+/g) ?? []) parts.push({type: 'text-delta', id: 't', delta: piece})
    parts.push({type: 'text-end', id: 't'})
  }
  step.calls?.forEach(({tool, input, id}, i) => {
    const toolCallId = id ?? `call-${number}-${i + 1}`
    parts.push({
      type: 'tool-call',
      toolCallId,
      toolName: tool,
      input: typeof input === 'string' ? input : JSON.stringify(input),
    })
  })
  if (step.breakOff) return parts
  const unified = step.calls?.length ? 'tool-calls' : 'stop'
  const usage = {
    inputTokens: {total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0},
    outputTokens: {total: 5, text: 5, reasoning: 0},
  }
  parts.push({type: 'finish', finishReason: {unified, raw: undefined}, usage})
  return parts
}

function streamOf(parts: LanguageModelV3StreamPart[]): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}
