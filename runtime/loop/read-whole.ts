import {HoldfastError} from '../protocol/errors.ts'
import {type EventId, eventIdSchema, type SessionId} from '../protocol/ids.ts'
import type {EventReads} from '../storage/device-store.ts'
import {textOf} from './excerpt.ts'
import {redactEvent} from './redact-event.ts'
import {isForModel, type Readable} from './select-events.ts'

/** `event:` and an event id; for a reply, also `#` and the index of the part. */
const pattern = /^event:([^#]+)(?:#(\d{1,4}))?$/

export function isReference(text: string): boolean {
  return text.startsWith('event:')
}

/** Returns the reference that an excerpt shows, so that a tool can read the whole text. */
export function referenceTo({id}: Readable, part?: number): string {
  return part === undefined ? `event:${id}` : `event:${id}#${part}`
}

/**
 * Returns the whole text of which a view showed an excerpt. It is read from the log, so it needs no copy, works on every
 * device that has the session, and ends with the event's erasure. [VIEW-4, RET-2]
 *
 * @throws HoldfastError `bad_input` for an invalid reference, `not_found` for an event outside this session and those
 * that it inherits from
 */
export async function readWhole(reads: EventReads, session: SessionId, reference: string): Promise<string> {
  const [, id, part] = pattern.exec(reference) ?? []
  const event = eventIdSchema.safeParse(id)
  if (!event.success) {
    throw new HoldfastError('bad_input', `${reference.slice(0, 100)}: expected "event:" and an event id`)
  }
  const found = await reads.event(session, event.data)
  const text = found && isForModel(found) ? textIn(redactEvent(found), part === undefined ? null : Number(part)) : null
  if (text === null) throw notFound(event.data)
  return text
}

function notFound(id: EventId): HoldfastError {
  return new HoldfastError('not_found', `event:${id}: neither this session nor what it inherits has such a text`)
}

function textIn(event: Readable, part: number | null): string | null {
  if (event.kind === 'message.posted') return part === null ? event.data.text : null
  if (event.kind === 'tool.returned') {
    // The output of a denial names who decided.
    return part === null && event.data.outcome !== 'denied' ? textOf(event.data.output) : null
  }
  const found = part === null ? undefined : event.data.content[part]
  if (!found || found.type === 'opaque') return null
  return found.type === 'call' ? textOf(found.input) : found.text
}
