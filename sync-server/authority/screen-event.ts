import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {
  type Event,
  isCustodianKind,
  isReadable,
  isServerKind,
  type LoggedEvent,
  readEvent,
  readLoggedEvent,
  type ServerKind,
} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {textStart} from '../../runtime/protocol/text.ts'
import type {EventVerdict} from '../../runtime/protocol/wire.ts'
import type {Principal} from '../principal.ts'
import {contentHash} from './hash.ts'

/** A valid event to be decided, or its final verdict. */
export type Screened = {event: Event; hash: string} | {verdict: EventVerdict}

/** Returns the kinds among these events that only the server may write, even if the events are otherwise invalid. */
export function forgedKinds(values: readonly unknown[]): ServerKind[] {
  const kinds = values.map(value =>
    typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined,
  )
  return [...new Set(kinds.filter((kind): kind is ServerKind => typeof kind === 'string' && isServerKind(kind)))]
}

/** True if this build cannot read an event but a later one might: unknown fields, kinds or versions. */
export function isOfNewerBuild(value: unknown): boolean {
  try {
    return !isReadable(readEvent(value))
  } catch {
    return isReadableLoosely(value)
  }
}

function isReadableLoosely(value: unknown): boolean {
  try {
    readLoggedEvent(value)
    return true
  } catch {
    return false
  }
}

/** Checks pushed events without the session. [LOG-4, SYNC-1] */
export async function screenEvents(
  principal: Principal,
  session: SessionId,
  values: readonly unknown[],
): Promise<Screened[]> {
  const screened: Screened[] = []
  let device: Event['device'] = null
  for (const value of values) {
    try {
      const event = readEvent(value)
      const fault = screenFault(event, principal, session, device)
      if (fault) screened.push({verdict: rejected(event.id, fault)})
      else if (isReadable(event)) {
        device ??= event.device
        screened.push({event, hash: await contentHash(event)})
      }
    } catch (error) {
      screened.push({verdict: rejected(idOf(value), HoldfastError.from(error))})
    }
  }
  return screened
}

export function rejected(id: string, error: HoldfastError): EventVerdict {
  return {status: 'rejected', id, error: error.toBody()}
}

function idOf(value: unknown): string {
  const named = typeof value === 'object' && value !== null && 'id' in value ? value.id : ''
  return typeof named === 'string' ? textStart(named, 200) : ''
}

/** Checks an event as the device sent it, independent of the session's state. Pure. */
export function screenFault(
  event: LoggedEvent,
  principal: Principal,
  session: SessionId,
  device: Event['device'],
): HoldfastError | null {
  if (!isReadable(event)) return new HoldfastError('unreadable_event', `The event cannot be read: ${event.unreadable}.`)
  if (isServerKind(event.kind)) {
    return new HoldfastError('forbidden', `"${event.kind}" is written by the server only; a device cannot push it.`)
  }
  if (event.session !== session) return wrong('session', `expected the session of the request, ${session}`)
  if (event.seq !== null) return wrong('seq', 'expected null; the server gives the sequence number')
  if (event.device === null || event.deviceSeq === null) return wrong('device', 'expected a device and its deviceSeq')
  if (device !== null && event.device !== device) return wrong('device', 'expected the same device in a whole batch')
  return actorFault(event, principal)
}

/** A person's event must carry the subject of the token, and an agent must not write a person's events. */
function actorFault(event: Event, principal: Principal): HoldfastError | null {
  switch (event.actor.type) {
    case 'person':
      return event.actor.subject === principal.subject
        ? null
        : new HoldfastError('forbidden', 'event.actor: expected the subject of the token.')
    case 'agent':
      return isCustodianKind(event.kind) || event.kind === 'document.updated' || event.kind === 'session.forked'
        ? null
        : new HoldfastError('forbidden', `event.actor: "${event.kind}" is said by a person, not by an agent.`)
    case 'service':
      return new HoldfastError('forbidden', 'event.actor: expected a person or an agent; services are the server.')
  }
}

function wrong(field: string, expected: string): HoldfastError {
  return new HoldfastError('bad_input', `event.${field}: ${expected}`, {
    details: {what: 'event', issues: [{field, expected}]},
  })
}
