import {HoldfastError} from '../protocol/errors.ts'
import {type Envelope, type LoggedEvent, readLoggedEvent} from '../protocol/event.ts'

/** A stored row passes the same schema as a network frame; what fails is kept and shown, never dropped. [LOG-4] */
export function readStored(value: unknown): LoggedEvent {
  try {
    return readLoggedEvent(value)
  } catch (error) {
    const envelope = value as Envelope
    return {...envelope, unreadable: HoldfastError.from(error).message}
  }
}
