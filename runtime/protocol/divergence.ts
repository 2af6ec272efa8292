import type {Event, LoggedEvent} from './event.ts'
import type {CallId, EventId, OperationId, SessionId} from './ids.ts'
import {shortened, textEnd} from './text.ts'
import type {Effect} from './tool.ts'

/** What a person can do with work that was done apart: a branch of its own, a message about it, or nothing. [CUS-4] */
export const divergenceChoices = ['keep', 'merge', 'discard'] as const
export type DivergenceChoice = (typeof divergenceChoices)[number]

export type Resolution = {choice: DivergenceChoice; fork: SessionId | null; at: number}

/** Work of this device that can never be confirmed, because custody had moved on; `base` is what it rested on. */
export type DivergenceRecord = {id: EventId; session: SessionId; base: number; resolution: Resolution | null}

/** The same as a page shows it. */
export type Divergence = DivergenceRecord & {
  /** When the first of it was done, milliseconds since 1970 on this device's clock. */
  since: number
  replies: number
  toolResults: number
  /** The end of what the agent said; null if it said nothing. */
  lastWords: string | null
  /** Never reached the server, so nothing of it was executed; a branch does not inherit them. [RUN-6] */
  proposals: {operation: OperationId; tool: string}[]
  /** Local tools that have run: what they wrote on this device stands, whatever is chosen. */
  standing: {call: CallId; tool: string}[]
}

type Call = {tool: string; effect: Effect | 'unknown'}

const lastWordsCharacters = 300
const mergedCharacters = 4000

/**
 * Tells what the events that were set aside amount to; `before` are the run starts and replies that they rest on.
 *
 * @example
 * const {replies, toolResults} = divergenceOf(record, {before: [], events: setAside})
 */
export function divergenceOf(
  record: DivergenceRecord,
  {before, events}: {before: readonly LoggedEvent[]; events: readonly LoggedEvent[]},
): Divergence {
  const calls = callsOf([...before, ...events])
  const results = events.filter(isKind('tool.returned'))
  const proposals = events.filter(isKind('operation.proposed')).map(({data}) => ({
    operation: data.operation,
    tool: data.tool,
  }))
  const standing = results.flatMap(({data: {call, outcome}}) => {
    const made = calls.get(call)
    return outcome === 'ok' && made?.effect === 'local' ? [{call, tool: made.tool}] : []
  })
  const said = wordsOf(events).at(-1) ?? null
  return {
    ...record,
    since: events[0]?.at ?? 0,
    replies: events.filter(isKind('model.replied')).length,
    toolResults: results.length,
    lastWords: said && ending(said, lastWordsCharacters),
    proposals,
    standing,
  }
}

/** An intent or an unanswered step alone is nothing that anybody could want back. */
export function isWorthAsking(events: readonly LoggedEvent[]): boolean {
  return events.some(({kind}) => kind === 'model.replied' || kind === 'tool.returned' || kind === 'operation.proposed')
}

/**
 * The one message that tells the conversation what was done apart from it: plain text, bounded. What the person wrote is
 * there already.
 */
export function mergeText(parts: {before: readonly LoggedEvent[]; events: readonly LoggedEvent[]}): string {
  const calls = callsOf([...parts.before, ...parts.events])
  const returned = parts.events
    .filter(isKind('tool.returned'))
    .filter(({data}) => data.outcome === 'ok')
    .map(
      ({data}) => `- ${calls.get(data.call)?.tool ?? 'A tool'} returned ${shortened(JSON.stringify(data.output), 500)}`,
    )
  const said = wordsOf(parts.events).at(-1)
  const lines = [
    'While one of my devices was apart from this conversation, the agent worked on it there. Only this came of it:',
    ...(said ? [`- The agent said: ${shortened(said, 2000)}`] : []),
    ...returned,
    ...parts.events
      .filter(isKind('operation.proposed'))
      .map(({data}) => `- ${data.tool} was proposed there and never executed.`),
  ]
  return shortened(lines.join('\n'), mergedCharacters)
}

function callsOf(events: readonly LoggedEvent[]): Map<CallId, Call> {
  const calls = new Map<CallId, Call>()
  let effects = new Map<string, Effect>()
  for (const event of events) {
    if ('unreadable' in event) continue
    if (event.kind === 'run.started') effects = new Map(event.data.pin.tools.map(({name, effect}) => [name, effect]))
    if (event.kind !== 'model.replied') continue
    for (const part of event.data.content) {
      if (part.type === 'call') calls.set(part.call, {tool: part.tool, effect: effects.get(part.tool) ?? 'unknown'})
    }
  }
  return calls
}

function wordsOf(events: readonly LoggedEvent[]): string[] {
  return events
    .filter(isKind('model.replied'))
    .map(({data}) =>
      data.content
        .flatMap(part => (part.type === 'text' ? part.text : []))
        .join('\n')
        .trim(),
    )
    .filter(text => text !== '')
}

function isKind<K extends Event['kind']>(kind: K) {
  return (event: LoggedEvent): event is Extract<Event, {kind: K}> => !('unreadable' in event) && event.kind === kind
}

function ending(text: string, characters: number): string {
  return text.length > characters ? `…${textEnd(text, characters)}` : text
}
