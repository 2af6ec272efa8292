import type {LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3Content} from '@ai-sdk/provider'
import {conversationOf} from './rules/conversation.ts'
import {planReply} from './rules/plan.ts'
import type {Plan} from './rules/step.ts'
import {estimatedUsage, paced, partsOf} from './rules/stream.ts'

/**
 * The demo's model when there is no key and no network: fixed rules behind the provider interface, not a language
 * model, and labelled so on the page. It knows what the prompt holds and nothing else.
 *
 * @example
 * const {stream} = await rulesModel({delayMs: 0}).doStream({prompt})
 */
export function rulesModel({delayMs = 18}: {delayMs?: number} = {}): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'holdfast-demo',
    modelId: 'rules',
    supportedUrls: {},
    async doStream(options) {
      const {plan, usage} = reply(options)
      return {stream: paced(partsOf(plan, callsIn(options), usage), delayMs, options.abortSignal)}
    },
    async doGenerate(options) {
      const {plan, usage} = reply(options)
      const first = callsIn(options)
      const content: LanguageModelV3Content[] = plan.calls.map((call, i) => ({
        type: 'tool-call',
        toolCallId: `rules-${first + i}`,
        toolName: call.tool,
        input: JSON.stringify(call.input),
      }))
      if (plan.text) content.unshift({type: 'text', text: plan.text})
      const finishReason = {
        unified: plan.calls.length > 0 ? ('tool-calls' as const) : ('stop' as const),
        raw: undefined,
      }
      return {content, finishReason, usage, warnings: []}
    },
  }
}

function reply({prompt}: LanguageModelV3CallOptions) {
  const plan: Plan = planReply(conversationOf(prompt))
  return {plan, usage: estimatedUsage(JSON.stringify(prompt).length, plan)}
}

/** Numbers the calls by what the prompt already holds, so that the same prompt always gives the same reply. */
function callsIn({prompt}: LanguageModelV3CallOptions): number {
  return (
    prompt
      .flatMap(message => (message.role === 'assistant' ? message.content : []))
      .filter(part => part.type === 'tool-call').length + 1
  )
}
