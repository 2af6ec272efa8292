import type {LanguageModelV3FunctionTool, LanguageModelV3Message, LanguageModelV3Prompt} from '@ai-sdk/provider'
import * as z from 'zod'
import {estimateTokens} from '../protocol/estimate-tokens.ts'
import type {LoggedEvent} from '../protocol/event.ts'
import type {EventId} from '../protocol/ids.ts'
import {type Transform, viewBuilder} from '../protocol/manifest.ts'
import {wellFormed} from '../protocol/text.ts'
import type {ToolContract} from '../protocol/tool.ts'
import {wellFormedJson} from '../protocol/well-formed.ts'
import {excerptSizes} from './excerpt.ts'
import {redactEvent} from './redact-event.ts'
import {afterSummary, isForModel, isMessage, type Readable, selectEvents, tokensOf} from './select-events.ts'
import {messagesOf} from './view-messages.ts'
import {messagesBefore3} from './view-messages-2.ts'
import {type Beside, contextPreface, nothingBeside, type Sections, sectionsOf} from './view-sections.ts'

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
 * Takes what fits: the mandatory parts, then the newest turns. Long texts are shown by excerpts where the turn under way
 * would not fit otherwise, or the newest exchange alone. Pure, and so are all functions below. [VIEW-1, VIEW-4]
 * `whole` is what the view would have held without a budget.
 */
export function prepareView(agent: ViewAgent, seen: readonly LoggedEvent[], beside: Beside) {
  const readable = seen.filter(isForModel)
  const covered = afterSummary(readable, beside.summary?.data.to ?? null)
  const bare = buildView(agent, [], beside).estimatedTokens
  const turn = readable.length - Math.max(0, readable.findLastIndex(isMessage))
  const within = (excerpt?: number) => fitted(agent, readable, {...beside, excerpt}, {bare, covered})
  const view =
    firstOf(
      [undefined, ...excerptSizes.filter(size => size >= leastForTurn)],
      within,
      ({over, taken}) => over <= 0 && taken >= turn,
    ) ??
    firstOf([undefined, ...excerptSizes], within, ({over}) => over <= 0) ??
    within(excerptSizes.at(-1))
  const {over, taken, excerpt, ...prepared} = view
  const left = readable.length - covered > taken
  const whole = {tokens: bare + tokensOf(readable.slice(covered)), events: seen.length - covered}
  const transforms: Transform[] = [
    ...prepared.transforms,
    ...(excerpt === undefined ? [] : [{part: 'turns', how: 'truncated'} as const]),
    ...(left ? [{part: 'turns', how: 'left_out'} as const] : []),
    ...(over > 0 ? [{part: 'view', how: 'over_budget'} as const] : []),
  ]
  return {...prepared, transforms: transforms.slice(0, 1000), whole, ...(excerpt !== undefined && {excerpt})}
}

/** Rather than cutting every text of a turn to less than this, its earlier steps are left out. */
const leastForTurn = 512

function firstOf<T>(
  sizes: readonly (number | undefined)[],
  make: (size?: number) => T,
  fits: (made: T) => boolean,
): T | null {
  for (const size of sizes) {
    const made = make(size)
    if (fits(made)) return made
  }
  return null
}

/** The newest events that fit with excerpts of that size, and by how much the view is over its budget even so. */
function fitted(
  agent: ViewAgent,
  readable: readonly Readable[],
  beside: Beside,
  {bare, covered}: {bare: number; covered: number},
) {
  const {excerpt, viewTokens} = beside
  const least = selectEvents(readable, 0, covered, excerpt).length
  let room = viewTokens - bare
  for (;;) {
    const chosen = selectEvents(readable, room, covered, excerpt)
    const view = buildView(agent, chosen, beside)
    const over = view.estimatedTokens - viewTokens
    if (over <= 0 || chosen.length <= least) return {...view, over, taken: chosen.length, excerpt}
    // The estimate of an event is that of its data; what the prompt adds around it is found out here.
    room -= over
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
  const sections: Sections = builder < 2 ? {texts: [], summary: null, transforms: []} : sectionsOf(beside, builder)
  const {before, after} = contextMessages(sections, builder)
  const prompt: LanguageModelV3Prompt = [
    {role: 'system', content: wellFormed(agent.instructions)},
    ...before,
    ...(builder < 3 ? messagesBefore3(formed) : messagesOf(formed, beside.excerpt)),
    ...after,
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

/**
 * In a person's place, not the system's: what users, tools and documents said must not speak with its authority. What
 * may change from step to step stands after the turns, so that a provider's cache keeps all before it; the summary
 * changes seldom and stands for turns, before them. Up to construction 2 everything stood before them.
 */
function contextMessages({texts, summary}: Sections, builder: number) {
  if (builder < 3) return {before: contextMessage([...texts]), after: []}
  const changing = texts.filter(text => text !== summary && text !== contextPreface)
  return {
    before: contextMessage(withPreface(summary === null ? [] : [summary])),
    after: contextMessage(withPreface(changing)),
  }
}

function withPreface(texts: readonly string[]): string[] {
  return texts.length > 0 ? [contextPreface, ...texts] : []
}

function contextMessage(texts: readonly string[]): LanguageModelV3Message[] {
  return texts.length > 0 ? [{role: 'user', content: texts.map(text => ({type: 'text', text}))}] : []
}

function functionTool(tool: ToolContract): LanguageModelV3FunctionTool {
  const inputSchema = z.toJSONSchema(tool.input, {io: 'input'}) as LanguageModelV3FunctionTool['inputSchema']
  return {type: 'function', name: tool.name, description: tool.description, inputSchema}
}
