import type {SessionView} from './session-view.ts'
import type {TranscriptEntry} from './transcript.ts'

type Fields = Omit<SessionView, 'entries' | 'streaming'>

/**
 * An update of a session's view: the complete view, or the changes since the view named `base`. A page that does not
 * hold that view requests the complete one. An update therefore costs its own size and not that of the conversation.
 */
export type ViewFrame =
  | {revision: string; view: SessionView}
  | {
      revision: string
      base: string
      fields: Partial<Fields>
      /** The new entries in order. A number is an index into the previous entries. Absent when no entry has changed. */
      entries?: (number | TranscriptEntry)[]
      /** Text to append to the reply that is being generated, or its replacement. */
      streaming?: {added: string} | {now: SessionView['streaming']}
    }

export type HeldView = {revision: string; view: SessionView}

/** Returns the frame that turns one view into the next; null when nothing has changed. */
export function frameBetween(held: HeldView, next: SessionView, revision: string): ViewFrame | null {
  const fields = changedFields(held.view, next)
  const entries = changedEntries(held.view.entries, next.entries)
  const streaming = changedStreaming(held.view.streaming, next.streaming)
  if (Object.keys(fields).length === 0 && !entries && !streaming) return null
  return {revision, base: held.revision, fields, ...(entries && {entries}), ...(streaming && {streaming})}
}

/** Applies a frame. Returns null when frames in between are missing. Unchanged entries keep their identity. */
export function applyFrame(held: HeldView | null, frame: ViewFrame): HeldView | null {
  const {revision} = frame
  if ('view' in frame) return {revision, view: frame.view}
  if (held?.revision !== frame.base) return null
  const {view} = held
  const entries = frame.entries?.flatMap(entry => (typeof entry === 'number' ? (view.entries[entry] ?? []) : [entry]))
  const streaming = frame.streaming === undefined ? view.streaming : streamed(view.streaming, frame.streaming)
  return {revision, view: {...view, ...frame.fields, entries: entries ?? view.entries, streaming}}
}

function changedFields(before: SessionView, next: SessionView): Partial<Fields> {
  const {entries: _entries, streaming: _streaming, ...fields} = next
  const changed = Object.entries(fields).filter(([name, value]) => !isSame(value, before[name as keyof Fields]))
  return Object.fromEntries(changed) as Partial<Fields>
}

function changedEntries(before: readonly TranscriptEntry[], next: readonly TranscriptEntry[]) {
  const find = finderOf(before)
  const entries = next.map((entry, place) => (entry === before[place] ? place : (find(entry) ?? entry)))
  const same = entries.length === before.length && entries.every((entry, place) => entry === place)
  return same ? undefined : entries
}

/**
 * Returns `next` with the objects of `before` for all entries that have not changed, so that a later comparison need not
 * read their texts.
 */
export function keepEntries(before: readonly TranscriptEntry[], next: readonly TranscriptEntry[]): TranscriptEntry[] {
  const find = finderOf(before)
  return next.map(entry => before[find(entry) ?? -1] ?? entry)
}

/** Finds the place of an equal entry. Equal entries have one id, so others are not compared. */
function finderOf(entries: readonly TranscriptEntry[]): (entry: TranscriptEntry) => number | undefined {
  let places: Map<string, number[]> | null = null
  return entry => {
    places ??= placesById(entries)
    return places.get(entry.id)?.find(place => isSame(entries[place], entry))
  }
}

function placesById(entries: readonly TranscriptEntry[]): Map<string, number[]> {
  const places = new Map<string, number[]>()
  for (const [place, {id}] of entries.entries()) places.set(id, [...(places.get(id) ?? []), place])
  return places
}

function isSame(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || JSON.stringify(a) === JSON.stringify(b)
}

function changedStreaming(before: SessionView['streaming'], now: SessionView['streaming']) {
  if (before?.run === now?.run && before?.text === now?.text) return undefined
  const continues = before && now && before.run === now.run && now.text.startsWith(before.text)
  return continues ? {added: now.text.slice(before.text.length)} : {now}
}

function streamed(
  before: SessionView['streaming'],
  change: {added: string} | {now: SessionView['streaming']},
): SessionView['streaming'] {
  if ('now' in change) return change.now
  return before && {...before, text: before.text + change.added}
}
