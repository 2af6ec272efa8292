import type {LanguageModelV3StreamPart, LanguageModelV3Usage} from '@ai-sdk/provider'
import type {Plan} from './step.ts'

/** A plan as the parts that the provider specification asks for, in its order. */
export function partsOf(plan: Plan, firstCall: number, usage: LanguageModelV3Usage): LanguageModelV3StreamPart[] {
  return [
    {type: 'stream-start', warnings: []},
    ...textParts(plan.text),
    ...plan.calls.flatMap((call, i) => callParts(`rules-${firstCall + i}`, call.tool, JSON.stringify(call.input))),
    {
      type: 'finish',
      usage,
      finishReason: {unified: plan.calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined},
    },
  ]
}

function textParts(text: string): LanguageModelV3StreamPart[] {
  if (text === '') return []
  const chunks = text.match(/\s*\S+/g) ?? []
  return [
    {type: 'text-start', id: 'text'},
    ...chunks.map((delta): LanguageModelV3StreamPart => ({type: 'text-delta', id: 'text', delta})),
    {type: 'text-end', id: 'text'},
  ]
}

function callParts(id: string, toolName: string, input: string): LanguageModelV3StreamPart[] {
  return [
    {type: 'tool-input-start', id, toolName},
    {type: 'tool-input-delta', id, delta: input},
    {type: 'tool-input-end', id},
    {type: 'tool-call', toolCallId: id, toolName, input},
  ]
}

export function estimatedUsage(promptCharacters: number, plan: Plan): LanguageModelV3Usage {
  const input = Math.ceil(promptCharacters / 4)
  const output = Math.ceil((plan.text.length + JSON.stringify(plan.calls).length) / 4)
  return {
    inputTokens: {total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined},
    outputTokens: {total: output, text: output, reasoning: undefined},
  }
}

/** Hands the parts over one by one as they are asked for, pausing before each piece of text; an abort ends it at once. */
export function paced(
  parts: readonly LanguageModelV3StreamPart[],
  delayMs: number,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV3StreamPart> {
  let next = 0
  return new ReadableStream({
    async pull(controller) {
      const part = parts[next++]
      if (!part) return controller.close()
      if (delayMs > 0 && part.type === 'text-delta') await pause(delayMs, signal)
      if (signal?.aborted) return controller.error(signal.reason)
      controller.enqueue(part)
    },
    cancel() {
      next = parts.length
    },
  })
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, {once: true})
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
  })
}
