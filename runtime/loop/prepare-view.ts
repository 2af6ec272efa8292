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

/** The input of one model call. It is never the raw transcript, and always built by these pure functions. [VIEW-1] */
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
 * Selects what fits: the mandatory parts, then the newest turns. Long texts are replaced by excerpts when the current
 * turn, or the newest exchange alone, would not fit otherwise. All functions here are pure. [VIEW-1, VIEW-4] `whole`:
 * size of the view without a budget.
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

/** Below this excerpt size, earlier steps of the turn are left out instead. */
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

/** Returns the newest events that fit with excerpts of that size, and by how much the view still exceeds its budget. */
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
    // The estimate of an event covers its data; what the prompt adds around it is known only here.
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
    ...(builder < 3 ? messagesBefore3(formed) : messagesOf(formed, {excerpt: beside.excerpt, builder})),
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

/** Well-formed text is unchanged, so that earlier manifests still lead to the same bytes. [VIEW-2] */
function wellFormedEvent(event: Readable): Readable {
  const data = wellFormedJson<Readable['data']>(event.data)
  return data === event.data ? event : ({...event, data} as Readable)
}

/**
 * Context is sent as user messages, because text from users, tools and documents must not have the system's authority.
 * What may change from step to step comes after the turns, so that the provider's cache keeps everything before it. The
 * summary changes seldom and replaces turns, so it comes before them. Up to construction 2, everything came before the
 * turns.
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
