import type {LanguageModelV3CallOptions, LanguageModelV3StreamPart} from '@ai-sdk/provider'

/** Characters that count as one token where a provider has not counted yet. */
const charactersPerToken = 4

/** Our own count of a request, used until the provider tells its own. */
export function estimatePrompt({prompt, tools}: Pick<LanguageModelV3CallOptions, 'prompt' | 'tools'>): number {
  return Math.ceil(JSON.stringify([prompt, tools ?? []]).length / charactersPerToken)
}

/** Our own count of one part of a reply: a piece of text is mostly one token or more. */
export function estimateTokens(part: LanguageModelV3StreamPart): number {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return Math.ceil(part.delta.length / charactersPerToken)
    default:
      return 0
  }
}
