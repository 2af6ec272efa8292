import {estimateTokens as estimateText} from '../../runtime/protocol/estimate-tokens.ts'
import type {CallOptions, ModelStreamPart} from './language-model.ts'

/** Estimates the tokens of a request. Used until the provider reports its own count. */
export function estimatePrompt({prompt, tools}: Pick<CallOptions, 'prompt' | 'tools'>): number {
  return estimateText([prompt, tools ?? []])
}

/** Estimates the tokens of one part of a reply. A text delta usually is at least one token. */
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
