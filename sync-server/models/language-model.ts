import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'

/** A model of the AI SDK's provider specification, version 3 or 4. */
export type LanguageModel = LanguageModelV3 | LanguageModelV4
export type ModelStreamPart = LanguageModelV3StreamPart | LanguageModelV4StreamPart
export type PartStream = ReadableStream<ModelStreamPart>
/** What a device may set of a call: no files, the only part of a prompt that the versions spell differently. */
export type CallOptions = Omit<LanguageModelV3CallOptions, 'abortSignal' | 'headers' | 'includeRawChunks'> &
  Pick<LanguageModelV4CallOptions, 'reasoning'>

/** Asks for a stream, in the options of the model's own version. */
export async function streamOf(
  model: LanguageModel,
  options: CallOptions,
  abortSignal: AbortSignal,
): Promise<PartStream> {
  const all = {...options, includeRawChunks: false, abortSignal}
  if (model.specificationVersion === 'v4') return (await model.doStream(all as LanguageModelV4CallOptions)).stream
  return (await model.doStream(all)).stream
}
