import type {
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider'
import * as z from 'zod'
import {estimateTokens} from '../protocol/estimate-tokens.ts'
import type {EventOf, LoggedEvent} from '../protocol/event.ts'
import type {EventId} from '../protocol/ids.ts'
import {type Transform, viewBuilder} from '../protocol/manifest.ts'
import type {ReplyPart} from '../protocol/run.ts'
import {wellFormed} from '../protocol/text.ts'
import type {ToolContract} from '../protocol/tool.ts'
import {wellFormedJson} from '../protocol/well-formed.ts'
import {redactEvent} from './redact-event.ts'
import {afterSummary, isForModel, type Readable, selectEvents, tokensOf} from './select-events.ts'
import {type Beside, nothingBeside, type Sections, sectionsOf} from './view-sections.ts'

/** What one model call is given: never the raw transcript, always built by these pure functions. [VIEW-1] */
export type PreparedView = {
  prompt: LanguageModelV3Prompt
  tools: LanguageModelV3FunctionTool[]
  /** The events that went in, oldest first: enough to build the same view again. [VIEW-2] */
  events: EventId[]
  estimatedTokens: number
  transforms: Transform[]
}

export type ViewAgent = {instructions: string; tools: readonly ToolContract[]}

/**
 * Takes what fits: the mandatory parts, then the newest turns. Pure, and so are all functions below. [VIEW-1, VIEW-4]
 * `whole` is what the view would have held without a budget.
 */
export function prepareView(agent: ViewAgent, seen: readonly LoggedEvent[], beside: Beside) {
  const readable = seen.filter(isForModel)
  const covered = afterSummary(readable, beside.summary?.data.to ?? null)
  const bare = buildView(agent, [], beside).estimatedTokens
  const least = selectEvents(readable, 0, covered).length
  let room = beside.viewTokens - bare
  for (;;) {
    const chosen = selectEvents(readable, room, covered)
    const view = buildView(agent, chosen, beside)
    const over = view.estimatedTokens - beside.viewTokens
    if (over > 0 && chosen.length > least) {
      // The estimate of an event is that of its data; what the prompt adds around it is found out here.
      room -= over
      continue
    }
    const left = readable.length - covered > chosen.length
    const whole = {tokens: bare + tokensOf(readable.slice(covered)), events: seen.length - covered}
    const transforms: Transform[] = [
      ...view.transforms,
      ...(left ? [{part: 'turns', how: 'left_out'} as const] : []),
      ...(over > 0 ? [{part: 'view', how: 'over_budget'} as const] : []),
    ]
    return {...view, transforms: transforms.slice(0, 1000), whole}
  }
}

/**
 * Builds the exact prompt from exactly these parts; same parts, same bytes. `builder` is the construction that the
 * manifest names: the first showed events as they were.
 */
export function buildView(
  agent: ViewAgent,
  events: readonly LoggedEvent[],
  beside: Beside = {...nothingBeside, viewTokens: Number.MAX_SAFE_INTEGER},
  builder: number = viewBuilder,
): PreparedView {
  const readable = events.filter(isForModel)
  const clean = builder < 2 ? readable : readable.map(redactEvent)
  const redacted = clean.filter((event, i) => event !== readable[i])
  const formed = clean.map(wellFormedEvent)
  const replaced = formed.filter((event, i) => event !== clean[i])
  const sections: Sections = builder < 2 ? {texts: [], transforms: []} : sectionsOf(beside)
  const prompt: LanguageModelV3Prompt = [
    {role: 'system', content: wellFormed(agent.instructions)},
    ...contextMessage(sections),
    ...messagesOf(formed),
  ]
  const tools = wellFormedJson(agent.tools.map(functionTool))
  return {
    prompt,
    tools,
    events: readable.map(event => event.id),
    estimatedTokens: estimateTokens(prompt) + estimateTokens(tools),
    transforms: [
      ...sections.transforms,
      ...redacted.map(({id}) => ({part: id, how: 'redacted'}) as const),
      ...replaced.map(({id}) => ({part: id, how: 'well_formed'}) as const),
    ],
  }
}

/** Well-formed text is left as it is, so that every earlier manifest still leads to the same bytes. [VIEW-2] */
function wellFormedEvent(event: Readable): Readable {
  const data = wellFormedJson<Readable['data']>(event.data)
  return data === event.data ? event : ({...event, data} as Readable)
}

/** In a person's place, not the system's: what users, tools and documents said must not speak with its authority. */
function contextMessage({texts}: Sections): LanguageModelV3Message[] {
  return texts.length > 0 ? [{role: 'user', content: texts.map(text => ({type: 'text', text}))}] : []
}

/**
 * A reply is followed at once by the results of its calls, as providers demand; a message that arrived between the
 * two comes after them.
 */
function messagesOf(events: readonly Readable[]): LanguageModelV3Message[] {
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
  // A call whose result is not here cannot be shown to a provider; it can only be one that is still open.
  // Some providers refuse an empty text.
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
  // What the provider attached to its own output must travel back to it as options.
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

function functionTool(tool: ToolContract): LanguageModelV3FunctionTool {
  const inputSchema = z.toJSONSchema(tool.input, {io: 'input'}) as LanguageModelV3FunctionTool['inputSchema']
  return {type: 'function', name: tool.name, description: tool.description, inputSchema}
}
