import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import {HoldfastError} from '../protocol/errors.ts'
import {modelFault} from '../protocol/model-fault.ts'

/** A model of the AI SDK's provider specification, version 3 or 4: any provider package of AI SDK 6 and 7. */
export type LanguageModel = LanguageModelV3 | LanguageModelV4
/** What both versions stream; version 4 added kinds of parts and changed none. */
export type ModelStreamPart = LanguageModelV3StreamPart | LanguageModelV4StreamPart
export type ModelStream = ReadableStream<ModelStreamPart>
/** Call options without files: those are the only part of a prompt in which the two versions differ. */
export type ModelCallOptions = LanguageModelV3CallOptions & Pick<LanguageModelV4CallOptions, 'reasoning'>

/**
 * Refuses what is no model of version 3 or 4, before anything is paid.
 *
 * @throws HoldfastError `misconfigured` saying what came instead
 */
export function requireModel(model: unknown, where = 'model'): asserts model is LanguageModel {
  const fault = modelFault(model)
  if (fault) throw new HoldfastError('misconfigured', `${where}: ${fault}`)
}

/** Asks for a stream, in the options of the model's own version. */
export async function streamOf(model: LanguageModel, options: ModelCallOptions): Promise<ModelStream> {
  if (model.specificationVersion === 'v4') {
    // A prompt of ours holds no file that V4 would spell in another way.
    return (await model.doStream(options as LanguageModelV4CallOptions)).stream
  }
  return (await model.doStream({...options, prompt: options.prompt.map(withoutCustom)})).stream
}

type Message = LanguageModelV3CallOptions['prompt'][number]

/** A part that only version 4 knows, from a run with another model. */
function withoutCustom(message: Message): Message {
  if (message.role !== 'assistant') return message
  const content = message.content.filter(({type}) => (type as string) !== 'custom')
  return content.length === message.content.length ? message : {...message, content}
}
