import type {
  LanguageModelV3Message,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider'
import type {EventOf} from '../protocol/event.ts'
import type {ReplyPart} from '../protocol/run.ts'
import type {Readable} from './select-events.ts'

/** The messages as constructions 1 and 2 built them. Their manifests must always lead to the same bytes. [VIEW-2] */
export function messagesBefore3(events: readonly Readable[]): LanguageModelV3Message[] {
  const results = new Map(
    events.flatMap(event => (event.kind === 'tool.returned' ? [[event.data.call, event] as const] : [])),
  )
  return events.flatMap((event): LanguageModelV3Message[] => {
    if (event.kind === 'message.posted') return [{role: 'user', content: [{type: 'text', text: event.data.text}]}]
    return event.kind === 'model.replied' ? replyMessages(event, results) : []
  })
}

function replyMessages(
  event: EventOf<'model.replied'>,
  results: ReadonlyMap<string, EventOf<'tool.returned'>>,
): LanguageModelV3Message[] {
  // A call without a result is still open and cannot be sent to a provider. Some providers refuse an empty text.
  const content = event.data.content.filter(part =>
    part.type === 'call'
      ? results.has(part.call)
      : part.type !== 'opaque' && (part.text !== '' || part.providerMetadata),
  )
  if (content.length === 0) return []
  const answers = content.flatMap(part => {
    const result = part.type === 'call' ? results.get(part.call) : undefined
    return part.type === 'call' && result ? [resultPart(part, result)] : []
  })
  const reply: LanguageModelV3Message = {role: 'assistant', content: content.flatMap(assistantPart)}
  return answers.length > 0 ? [reply, {role: 'tool', content: answers}] : [reply]
}

type AssistantPart = Extract<LanguageModelV3Message, {role: 'assistant'}>['content'][number]

function assistantPart(part: ReplyPart): AssistantPart[] {
  // Metadata of the provider is returned to it as options.
  const back = part.providerMetadata ? {providerOptions: part.providerMetadata as Record<string, never>} : {}
  if (part.type === 'opaque') return []
  if (part.type !== 'call') return [{type: part.type, text: part.text, ...back}]
  return [{type: 'tool-call', toolCallId: part.providerCall, toolName: part.tool, input: part.input, ...back}]
}

function resultPart(
  call: Extract<ReplyPart, {type: 'call'}>,
  result: EventOf<'tool.returned'>,
): LanguageModelV3ToolResultPart {
  return {type: 'tool-result', toolCallId: call.providerCall, toolName: call.tool, output: resultOutput(result)}
}

function resultOutput({data}: EventOf<'tool.returned'>): LanguageModelV3ToolResultOutput {
  switch (data.outcome) {
    case 'ok':
      return {type: 'json', value: data.output}
    case 'denied':
      return {type: 'execution-denied', reason: JSON.stringify(data.output)}
    case 'error':
      return {type: 'error-json', value: data.output}
    case 'aborted':
    case 'superseded':
      return {type: 'error-json', value: {[data.outcome]: data.output}}
  }
}
