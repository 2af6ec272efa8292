import type {LanguageModelV3, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import {textStart} from '../protocol/text.ts'

/** What goes wrong with one call of a provider; `null` leaves it as it is. */
export type ModelTrouble = null | {fails: unknown} | 'breaks off' | 'garbles its calls'

/**
 * The same model, whose first calls go wrong one by one; all later ones pass through.
 *
 * @example
 * const model = troubledModel(rules, [{fails: new Error('overloaded')}, 'breaks off'])
 */
export function troubledModel(model: LanguageModelV3, troubles: readonly ModelTrouble[]): LanguageModelV3 {
  let calls = 0
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: options => model.doGenerate(options),
    async doStream(options) {
      const trouble = troubles[calls++] ?? null
      if (trouble !== null && typeof trouble === 'object') throw trouble.fails
      const result = await model.doStream(options)
      return trouble === null ? result : {...result, stream: result.stream.pipeThrough(troubled(trouble))}
    },
  }
}

function troubled(
  trouble: 'breaks off' | 'garbles its calls',
): TransformStream<LanguageModelV3StreamPart, LanguageModelV3StreamPart> {
  return new TransformStream({
    transform(part, out) {
      if (trouble === 'breaks off' && part.type === 'finish') return
      // Half of it, as from a model that ran out of room.
      if (trouble === 'garbles its calls' && part.type === 'tool-call') {
        out.enqueue({...part, input: textStart(part.input, Math.max(1, part.input.length / 2))})
      } else out.enqueue(part)
    },
  })
}
