import type {LanguageModelV3, LanguageModelV3Prompt} from '@ai-sdk/provider'
import {contextPreface} from '../loop/view-sections.ts'
import {type ScriptedStep, scriptedModel} from './scripted-model.ts'

/**
 * A model that is a pure function of its prompt. It gives the same reply when it is called again after a crash.
 *
 * @example
 * const model = promptModel(prompt => ({text: `You said ${said(prompt).at(-1)}.`}))
 */
export function promptModel(answer: (prompt: LanguageModelV3Prompt) => ScriptedStep): LanguageModelV3 {
  return {
    ...scriptedModel([]),
    doStream: async options => await scriptedModel([answer(options.prompt)]).doStream(options),
  }
}

/**
 * Returns the messages of the person in a prompt, oldest first.
 *
 * @example
 * const model = promptModel(prompt => (said(prompt).includes('Stop.') ? {text: 'Stopped.'} : {text: 'Going on.'}))
 */
export function said(prompt: LanguageModelV3Prompt): string[] {
  return prompt.flatMap(message =>
    message.role === 'user' && !isContext(message.content)
      ? message.content.flatMap(part => (part.type === 'text' ? [part.text] : []))
      : [],
  )
}

/** The application's context also has the role `user`, but no person wrote it. */
function isContext([first]: Extract<LanguageModelV3Prompt[number], {role: 'user'}>['content']): boolean {
  return first?.type === 'text' && first.text === contextPreface
}
