import type {
  LanguageModelV3Message,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider'
import type {EventOf} from '../protocol/event.ts'
import type {CallId} from '../protocol/ids.ts'
import type {Json} from '../protocol/json.ts'
import {flawOf} from '../protocol/reply-flaw.ts'
import type {ReplyPart} from '../protocol/run.ts'
import {excerptOf, excerptText} from './excerpt.ts'
import {referenceTo} from './read-whole.ts'
import type {Readable} from './select-events.ts'
import {wireIdsOf} from './wire-ids.ts'

type Results = ReadonlyMap<string, EventOf<'tool.returned'>>
type Shown = {results: Results; ids: ReadonlyMap<CallId, string>; excerpt: number | undefined; refer: Refer}
/** Returns the reference of a text for its excerpt. Views of construction 3 have none. */
type Refer = (event: Readable, part?: number) => string | undefined

/**
 * Builds the messages for a provider. The results of a reply's calls follow it directly, as providers require. With
 * `excerpt`, texts over that many tokens are shortened to their start and end. [VIEW-4]
 */
export function messagesOf(
  events: readonly Readable[],
  {excerpt, builder}: {excerpt: number | undefined; builder: number},
): LanguageModelV3Message[] {
  const refer: Refer = builder < 4 ? () => undefined : referenceTo
  const results = new Map(
    events.flatMap(event => (event.kind === 'tool.returned' ? [[event.data.call, event] as const] : [])),
  )
  const calls = events.flatMap(event => (event.kind === 'model.replied' ? event.data.content : []))
  const ids = wireIdsOf(calls.filter(part => part.type === 'call'))
  return events.flatMap((event): LanguageModelV3Message[] => {
    if (event.kind === 'message.posted') return [said(excerptText(event.data.text, excerpt, refer(event)))]
    return event.kind === 'model.replied' ? replyMessages(event, {results, ids, excerpt, refer}) : []
  })
}

function said(text: string): LanguageModelV3Message {
  return {role: 'user', content: [{type: 'text', text}]}
}

function replyMessages(event: EventOf<'model.replied'>, shown: Shown): LanguageModelV3Message[] {
  const {content} = event.data
  const parts = content.flatMap((part, i) => assistantParts(part, shown, shown.refer(event, i)))
  const answers = content.flatMap(part => (part.type === 'call' ? resultPart(part, shown) : []))
  const note = noteOn(event)
  return [
    ...(parts.length > 0 ? [{role: 'assistant', content: parts} as const] : []),
    ...(answers.length > 0 ? [{role: 'tool', content: answers} as const] : []),
    ...(note ? [said(note)] : []),
  ]
}

/** The note after a reply that was cut, which asks the model to continue. */
function noteOn({data}: EventOf<'model.replied'>): string | null {
  return flawOf(data) === 'cut' ? cutNote : null
}

const cutNote =
  '[Note of the application: the reply above was cut at its length limit. Continue from where it stopped, in fewer ' +
  'words, unless the next message asks for something else.]'

type AssistantPart = Extract<LanguageModelV3Message, {role: 'assistant'}>['content'][number]

function assistantParts(part: ReplyPart, {results, ids, excerpt}: Shown, whole: string | undefined): AssistantPart[] {
  // Metadata of the provider is returned to it as options.
  const back = part.providerMetadata ? {providerOptions: part.providerMetadata as Record<string, never>} : {}
  switch (part.type) {
    case 'opaque':
      return opaqueParts(part, back)
    case 'call': {
      // A call without a result is still open and cannot be sent to a provider.
      if (!results.has(part.call)) return []
      const input = part.providerMetadata ? part.input : excerptOf(part.input, excerpt, whole)
      return [{type: 'tool-call', toolCallId: ids.get(part.call) ?? part.call, toolName: part.tool, input, ...back}]
    }
    default: {
      // Some providers refuse an empty text. Text that a provider has signed must not be shortened.
      if (part.text === '' && !part.providerMetadata) return []
      const text = part.providerMetadata ? part.text : excerptText(part.text, excerpt, whole)
      return [{type: part.type, text, ...back}]
    }
  }
}

/** Custom parts are returned to their provider unchanged. Other opaque parts are not sent again. */
function opaqueParts({kind, value}: Extract<ReplyPart, {type: 'opaque'}>, back: object): AssistantPart[] {
  if (kind !== 'custom' || typeof value.kind !== 'string') return []
  // Only specification v4 has this part. It is removed for a v3 model.
  return [{type: 'custom', kind: value.kind, ...back} as unknown as AssistantPart]
}

function resultPart(
  call: Extract<ReplyPart, {type: 'call'}>,
  {results, ids, excerpt, refer}: Shown,
): LanguageModelV3ToolResultPart[] {
  const result = results.get(call.call)
  if (!result) return []
  const output = resultOutput(result, excerpt, refer(result))
  return [{type: 'tool-result', toolCallId: ids.get(call.call) ?? call.call, toolName: call.tool, output}]
}

function resultOutput(
  {data}: EventOf<'tool.returned'>,
  excerpt: number | undefined,
  whole: string | undefined,
): LanguageModelV3ToolResultOutput {
  const value = excerptOf(data.output, excerpt, whole)
  switch (data.outcome) {
    case 'ok':
      return {type: 'json', value}
    case 'denied':
      return {type: 'execution-denied', reason: denialWords(data.output)}
    case 'error':
      return {type: 'error-json', value}
    case 'aborted':
    case 'superseded':
      return {type: 'error-json', value: {[data.outcome]: value}}
  }
}

/** Omits the identity of the approver, which the provider must not get. */
function denialWords(output: Json): string {
  if (typeof output === 'string') return JSON.stringify(output)
  const {note, reason} = typeof output === 'object' && output !== null && !Array.isArray(output) ? output : {}
  if (typeof reason === 'string') return reason
  const why = typeof note === 'string' && note.trim() !== '' ? ` The reason given: ${note}` : ''
  return `A person rejected this. It was not carried out; do not propose the same again.${why}`
}
