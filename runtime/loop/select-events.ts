import {estimateTokens} from '../protocol/estimate-tokens.ts'
import type {EventOf, LoggedEvent} from '../protocol/event.ts'
import type {EventId} from '../protocol/ids.ts'

export const viewKinds = ['message.posted', 'model.replied', 'tool.returned'] as const
/** An event that a model can be shown. */
export type Readable = EventOf<(typeof viewKinds)[number]>
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

export function isForModel(event: LoggedEvent): event is Readable {
  return !('unreadable' in event) && (viewKinds as readonly string[]).includes(event.kind)
}

export function isMessage(event: Readable): event is EventOf<'message.posted'> {
  return event.kind === 'message.posted'
}

/** Estimates the tokens of events. `excerpt`: maximum tokens of each text. */
export function tokensOf(events: readonly Readable[], excerpt = Number.POSITIVE_INFINITY): number {
  return events.reduce((sum, event) => sum + tokensIn(event, excerpt), 0)
}

function tokensIn(event: Readable, excerpt: number): number {
  if (event.kind !== 'model.replied') return Math.min(estimateTokens(event.data), excerpt)
  return event.data.content.reduce((sum, part) => sum + Math.min(estimateTokens(part), excerpt), 0)
}

/** What follows the last event that a summary stands for; all of it when there is none, or it is further back. */
export function afterSummary(events: readonly Readable[], to: EventId | null): number {
  return to === null ? 0 : events.findIndex(({id}) => id === to) + 1
}

/**
 * Takes the newest events that fit the budget, cut where no call is parted from its result: before a message if one
 * fits, else within the turn, whose message is then kept in front. The newest exchange stays, however long; nothing
 * before `covered` is taken, a summary stands for it. [VIEW-3, VIEW-4]
 */
export function selectEvents(
  events: readonly LoggedEvent[],
  budgetTokens: number,
  covered = 0,
  excerpt?: number,
): Readable[] {
  const readable = events.filter(isForModel)
  const start = newestCut(readable, budgetTokens, covered, excerpt)
  const chosen = readable.slice(start)
  const opening = chosen[0]?.kind === 'message.posted' ? undefined : readable.slice(0, start).findLast(isMessage)
  return opening ? [opening, ...chosen] : chosen
}

/**
 * Returns the index from which the events fit the budget. Cuts at a message are preferred; if nothing fits, the last
 * cut is used.
 */
export function newestCut(events: readonly Readable[], budgetTokens: number, covered = 0, excerpt?: number): number {
  const cuts = cutsOf(events).filter(cut => cut >= covered)
  const affordable = cuts.slice(firstAffordable(events, cuts, budgetTokens, excerpt))
  return affordable.find(cut => events[cut]?.kind === 'message.posted') ?? affordable[0] ?? covered
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

/** Returns the index of the first cut from which everything fits; the last cut if nothing does. */
function firstAffordable(
  events: readonly Readable[],
  cuts: readonly number[],
  budgetTokens: number,
  excerpt?: number,
): number {
  let tokens = 0
  let end = events.length
  for (let i = cuts.length - 1; i >= 0; i--) {
    tokens += tokensOf(events.slice(cuts[i], end), excerpt)
    end = cuts[i] ?? 0
    if (tokens > budgetTokens) return Math.min(i + 1, cuts.length - 1)
  }
  return 0
}
