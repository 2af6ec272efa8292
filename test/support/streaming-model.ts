import type {
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'

export type StreamedPart = LanguageModelV4StreamPart
/** One call of the model: its parts, waited for between them where a promise stands, or an error that it throws. */
export type Streamed = readonly (StreamedPart | Promise<unknown>)[] | {throws: unknown} | {breaksWith: unknown}

export const counted = (input = 10, output = 5, cached = 0) => ({
  inputTokens: {total: input, noCache: input - cached, cacheRead: cached, cacheWrite: 0},
  outputTokens: {total: output, text: output, reasoning: 0},
})
export const uncounted = {
  inputTokens: {total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined},
  outputTokens: {total: undefined, text: undefined, reasoning: undefined},
}

type Unified = Extract<StreamedPart, {type: 'finish'}>['finishReason']['unified']
export const ended = (
  unified: Unified = 'stop',
  usage: Extract<StreamedPart, {type: 'finish'}>['usage'] = counted(),
  raw?: string,
): StreamedPart => ({type: 'finish', finishReason: {unified, raw}, usage})

export const words = (text: string, id = 't'): StreamedPart[] => [
  {type: 'text-start', id},
  {type: 'text-delta', id, delta: text},
  {type: 'text-end', id},
]

export const call = (toolName: string, input: unknown, toolCallId = 'c1'): StreamedPart => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: typeof input === 'string' ? input : JSON.stringify(input),
})

export type StreamingModel = LanguageModelV4 & {readonly calls: LanguageModelV4CallOptions[]}

/** A model of version 4 that streams exactly the parts that a function of its call gives; calls are counted from 1. */
export function streamingModel(
  answer: (options: LanguageModelV4CallOptions, call: number) => Streamed,
): StreamingModel {
  const calls: LanguageModelV4CallOptions[] = []
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'streaming',
    supportedUrls: {},
    calls,
    doGenerate: () => Promise.reject(new Error('this model streams')),
    doStream: async options => {
      calls.push(options)
      const streamed = answer(options, calls.length)
      if ('throws' in streamed) throw streamed.throws
      return {stream: streamOf(streamed)}
    },
  }
}

/** The same model in version 3 of the specification. */
export function asV3(model: StreamingModel): LanguageModelV3 {
  return {...model, specificationVersion: 'v3'} as unknown as LanguageModelV3
}

function streamOf(streamed: Exclude<Streamed, {throws: unknown}>): ReadableStream<StreamedPart> {
  return new ReadableStream({
    async start(controller) {
      if ('breaksWith' in streamed) return controller.error(streamed.breaksWith)
      for (const part of streamed) {
        if (part instanceof Promise) await part
        else controller.enqueue(part)
      }
      controller.close()
    },
  })
}
