import type {Envelope} from './event.ts'
import type {EventId} from './ids.ts'
import type {Json} from './json.ts'

/** The kinds of events in which a branch can carry something of its source. */
export const carryingKinds = ['session.forked', 'view.compacted'] as const

const summaryGone = 'What was summarised here was erased.'

/** The events that `withoutInherited` has to know about: whether they are of the branch or of its source. */
export function eventsNamed(events: readonly Envelope[]): EventId[] {
  return events.flatMap(({kind, data}) => (kind === 'view.compacted' ? namedBy(fieldsOf(data)) : []))
}

/**
 * Of a branch whose source was erased: the events that carry something of the source, as they stand from then on. The
 * title and the slots that it began with are gone, and so is each summary that stands for inherited turns or has taken
 * one in that does. `events` in log order; `own` are those named ones that are of the branch itself. [RET-2]
 */
export function withoutInherited(events: readonly Envelope[], own: ReadonlySet<EventId>): Envelope[] {
  const carrying = new Set<EventId>()
  return events.flatMap(event => {
    const {kind} = event
    const data = fieldsOf(event.data)
    if (kind === 'session.forked') {
      const {title: _title, slots: _slots, ...kept} = data
      return [{...event, data: kept}]
    }
    if (kind !== 'view.compacted' || !namedBy(data).some(id => !own.has(id) || carrying.has(id))) return []
    carrying.add(event.id)
    return [{...event, data: {...data, summary: summaryGone}}]
  })
}

function fieldsOf(data: Json): {[name: string]: Json} {
  return data as {[name: string]: Json}
}

function namedBy({from, previous}: {[name: string]: Json}): EventId[] {
  return [from, previous].filter((id): id is EventId => typeof id === 'string')
}
