import {estimateTokens as estimateText} from '../../runtime/protocol/estimate-tokens.ts'
import type {CallOptions, ModelStreamPart} from './language-model.ts'

/** Our own count of a request, used until the provider tells its own. */
export function estimatePrompt({prompt, tools}: Pick<CallOptions, 'prompt' | 'tools'>): number {
  return estimateText([prompt, tools ?? []])
}

/** Our own count of one part of a reply: a piece of text is mostly one token or more. */
export function estimateTokens(part: ModelStreamPart): number {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return estimateText(part.delta)
    default:
      return 0
  }
}
