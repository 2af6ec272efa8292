import type {LoggedEvent} from './event.ts'
import type {EventId} from './ids.ts'
import type {Manifest} from './manifest.ts'

/** A step whose manifest names every event of its view. */
export type NamedStep = {step: EventId; events: readonly EventId[]}

/** Events that a view may name beyond those of an earlier step, before it names them all again. */
const longestTail = 24

/**
 * The events of a view as its manifest names them. What an earlier step of the run was shown is named by that step, so
 * that a long run does not write the same hundred ids at every step; one that names all is never far back, and what
 * goes on from it needs no other. [VIEW-2]
 */
export function namesOf(events: readonly EventId[], earlier: NamedStep | null): Pick<Manifest, 'events' | 'continues'> {
  if (!earlier) return {events: [...events]}
  const from = firstDifference(earlier.events, events)
  const next = events[from]
  const found = next === undefined ? -1 : earlier.events.indexOf(next, from)
  const to = found < 0 ? earlier.events.length : found
  const kept = earlier.events.slice(to)
  const tail = events.slice(from + kept.length)
  const follows = kept.every((id, i) => events[from + i] === id)
  if (!follows || tail.length > longestTail || tail.length >= events.length) return {events: [...events]}
  return {continues: {step: earlier.step, from, to}, events: tail}
}

/** All events of a view, oldest first; null when the step that it goes on from is not there. */
export function shownEvents(
  {continues, events}: Manifest,
  manifestOf: (step: EventId) => Manifest | undefined,
): EventId[] | null {
  if (!continues) return events
  const earlier = manifestOf(continues.step)
  if (!earlier || earlier.continues) return null
  return [...earlier.events.slice(0, continues.from), ...earlier.events.slice(continues.to), ...events]
}

/** The manifests that are among these events. */
export function manifestsAmong(events: readonly LoggedEvent[]): (step: EventId) => Manifest | undefined {
  const manifests = new Map(
    events.flatMap(event =>
      event.kind === 'step.prepared' && !('unreadable' in event) ? [[event.id, event.data.manifest] as const] : [],
    ),
  )
  return step => manifests.get(step)
}

function firstDifference(a: readonly EventId[], b: readonly EventId[]): number {
  const found = a.findIndex((id, i) => b[i] !== id)
  return found < 0 ? a.length : found
}
