import type {Event} from '../../runtime/protocol/event.ts'
import type {CallId} from '../../runtime/protocol/ids.ts'
import {isFenced, type SessionState} from '../../runtime/protocol/session.ts'

/** Calls without a result at the end of a device's own log, read from the events themselves. */
export function openCallsOf(confirmed: SessionState, pending: readonly Event[]): CallId[] {
  const open = new Set(confirmed.calls.map(call => call.id))
  for (const event of pending) {
    if (event.kind === 'tool.returned') open.delete(event.data.call)
    if (event.kind !== 'model.replied' || isFenced(confirmed, event)) continue
    for (const part of event.data.content) if (part.type === 'call') open.add(part.call)
  }
  return [...open]
}
