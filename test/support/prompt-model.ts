import type {LanguageModelV3, LanguageModelV3Prompt} from '@ai-sdk/provider'
import {type ScriptedStep, scriptedModel} from '../../runtime/testing.ts'

/** A model that is a pure function of its prompt: asked again after a crash, it says the same. */
export function promptModel(answer: (prompt: LanguageModelV3Prompt) => ScriptedStep): LanguageModelV3 {
  return {
    ...scriptedModel([]),
    doStream: async options => await scriptedModel([answer(options.prompt)]).doStream(options),
  }
}

/** What the person has said, oldest first. */
export function said(prompt: LanguageModelV3Prompt): string[] {
  return prompt.flatMap(message =>
    message.role === 'user' ? message.content.flatMap(part => (part.type === 'text' ? [part.text] : [])) : [],
  )
}
