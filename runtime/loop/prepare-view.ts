import type {
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider'
import * as z from 'zod'
import type {EventOf, LoggedEvent} from '../protocol/event.ts'
import type {EventId} from '../protocol/ids.ts'
import type {ReplyPart} from '../protocol/run.ts'
import type {ToolContract} from '../protocol/tool.ts'

/** What one model call is given: never the raw transcript, always built by these pure functions. [VIEW-1] */
export type PreparedView = {
  prompt: LanguageModelV3Prompt
  tools: LanguageModelV3FunctionTool[]
  /** The events that went in, oldest first: enough to build the same view again. [VIEW-2] */
  events: EventId[]
  estimatedTokens: number
}

export const viewKinds = ['message.posted', 'model.replied', 'tool.returned'] as const
type Readable = EventOf<(typeof viewKinds)[number]>
/** What must be read to select from: which step saw which message decides where it stands. */
export const windowKinds = [...viewKinds, 'step.prepared'] as const

/**
 * Puts each message where the model first saw it, before the reply of that step, and those that this step answers last:
 * in the order of the log, one that arrived during a reply would look as if that reply had known it. [RUN-3, VIEW-1]
 */
export function inOrderSeen(
  events: readonly LoggedEvent[],
  now: {answers: readonly EventId[]; hidden: readonly EventId[]},
): LoggedEvent[] {
  const steps = events.filter(isStep)
  const placed = new Set([...steps.flatMap(step => step.data.manifest.answers), ...now.answers, ...now.hidden])
  const byId = new Map(events.map(event => [event.id, event]))
  const messages = (ids: readonly EventId[]) => ids.flatMap(id => byId.get(id) ?? [])
  const arranged = events.flatMap(event => {
    if (isStep(event)) return messages(event.data.manifest.answers)
    return event.kind === 'message.posted' && placed.has(event.id) ? [] : [event]
  })
  return [...arranged, ...messages(now.answers)]
}

function isStep(event: LoggedEvent): event is EventOf<'step.prepared'> {
  return event.kind === 'step.prepared' && !('unreadable' in event)
}

/**
 * Takes the newest events that fit the budget, cut where no call is parted from its result: before a message if one
 * fits, else within the turn, whose message is then kept in front. The newest exchange stays, however long. [VIEW-3, VIEW-4]
 */
export function selectEvents(events: readonly LoggedEvent[], budgetTokens: number): Readable[] {
  const readable = events.filter(isForModel)
  const cuts = cutsOf(readable)
  const affordable = cuts.slice(firstAffordable(readable, cuts, budgetTokens))
  const start = affordable.find(cut => readable[cut]?.kind === 'message.posted') ?? affordable[0] ?? 0
  const chosen = readable.slice(start)
  const opening = chosen[0]?.kind === 'message.posted' ? undefined : readable.slice(0, start).findLast(isMessage)
  return opening ? [opening, ...chosen] : chosen
}

function isMessage(event: Readable): event is EventOf<'message.posted'> {
  return event.kind === 'message.posted'
}

/** Places where no earlier call still waits for its result. */
function cutsOf(events: readonly Readable[]): number[] {
  const returned = new Map(events.flatMap((event, i) => (event.kind === 'tool.returned' ? [[event.data.call, i]] : [])))
  const cuts: number[] = []
  let openUntil = -1
  events.forEach((event, i) => {
    if (i > openUntil && event.kind !== 'tool.returned') cuts.push(i)
    if (event.kind !== 'model.replied') return
    for (const part of event.data.content) {
      if (part.type === 'call') openUntil = Math.max(openUntil, returned.get(part.call) ?? -1)
    }
  })
  return cuts
}

/** Index of the first cut from which everything fits; the last cut when nothing does. */
function firstAffordable(events: readonly Readable[], cuts: readonly number[], budgetTokens: number): number {
  let tokens = 0
  let end = events.length
  for (let i = cuts.length - 1; i >= 0; i--) {
    tokens += events.slice(cuts[i], end).reduce((sum, event) => sum + estimateTokens(event.data), 0)
    end = cuts[i] ?? 0
    if (tokens > budgetTokens) return Math.min(i + 1, cuts.length - 1)
  }
  return 0
}

/** Builds the exact prompt from exactly these events; same events, same bytes. */
export function buildView(
  agent: {instructions: string; tools: readonly ToolContract[]},
  events: readonly LoggedEvent[],
): PreparedView {
  const readable = events.filter(isForModel)
  const prompt: LanguageModelV3Prompt = [{role: 'system', content: agent.instructions}, ...messagesOf(readable)]
  const tools = agent.tools.map(functionTool)
  return {
    prompt,
    tools,
    events: readable.map(event => event.id),
    estimatedTokens: estimateTokens(prompt) + estimateTokens(tools),
  }
}

/** Characters ÷ 4: rough, the same everywhere, and cheap. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4)
}

function isForModel(event: LoggedEvent): event is Readable {
  return !('unreadable' in event) && (viewKinds as readonly string[]).includes(event.kind)
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
    part.type === 'call' ? results.has(part.call) : part.text !== '' || part.providerMetadata,
  )
  if (content.length === 0) return []
  const answers = content.flatMap(part => {
    const result = part.type === 'call' ? results.get(part.call) : undefined
    return part.type === 'call' && result ? [resultPart(part, result)] : []
  })
  const reply: LanguageModelV3Message = {role: 'assistant', content: content.map(assistantPart)}
  return answers.length > 0 ? [reply, {role: 'tool', content: answers}] : [reply]
}

type AssistantPart = Extract<LanguageModelV3Message, {role: 'assistant'}>['content'][number]

function assistantPart(part: ReplyPart): AssistantPart {
  // What the provider attached to its own output must travel back to it as options.
  const back = part.providerMetadata ? {providerOptions: part.providerMetadata as Record<string, never>} : {}
  if (part.type !== 'call') return {type: part.type, text: part.text, ...back}
  return {type: 'tool-call', toolCallId: part.providerCall, toolName: part.tool, input: part.input, ...back}
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
