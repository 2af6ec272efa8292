import {systemEnvironment} from '../platform/environment.ts'
import type {EventId, SessionId} from '../protocol/ids.ts'

/**
 * Creates an id for one message. Keep it with the text until `send` resolves. If the outcome of `send` is unknown, send
 * again with the same id: the message is stored once. [LOG-3]
 *
 * @example const id = newEventId() await session.send(text, {id})
 */
export function newEventId(): EventId {
  return systemEnvironment.id('event')
}

/** Creates an id for `openSession({agent, id})`. */
export function newSessionId(): SessionId {
  return systemEnvironment.id('session')
}
