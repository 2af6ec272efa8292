import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'

/** A model of the AI SDK provider specification, version 3 or 4. */
export type LanguageModel = LanguageModelV3 | LanguageModelV4
export type ModelStreamPart = LanguageModelV3StreamPart | LanguageModelV4StreamPart
export type PartStream = ReadableStream<ModelStreamPart>
/**
 * The call options that a device may set. Files are excluded: they are the only prompt part whose form differs
 * between the versions.
 */
export type CallOptions = Omit<LanguageModelV3CallOptions, 'abortSignal' | 'headers' | 'includeRawChunks'> &
  Pick<LanguageModelV4CallOptions, 'reasoning'>

/** Starts a stream with the options of the model's specification version. */
export async function streamOf(
  model: LanguageModel,
  options: CallOptions,
  abortSignal: AbortSignal,
): Promise<PartStream> {
  const all = {...options, includeRawChunks: false, abortSignal}
  if (model.specificationVersion === 'v4') return (await model.doStream(all as LanguageModelV4CallOptions)).stream
  return (await model.doStream(all)).stream
}
