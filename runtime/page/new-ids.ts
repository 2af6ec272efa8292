import {systemEnvironment} from '../platform/environment.ts'
import type {EventId, SessionId} from '../protocol/ids.ts'

/**
 * An id for one message. Keep it beside the text until `send` has resolved: with it the message can be sent again after
 * an unknown outcome, and is stored once. [LOG-3]
 *
 * @example
 * const id = newEventId()
 * await session.send(text, {id})
 */
export function newEventId(): EventId {
  return systemEnvironment.id('event')
}

/** An id for one session that is opened with `openSession({agent, id})`. */
export function newSessionId(): SessionId {
  return systemEnvironment.id('session')
}
