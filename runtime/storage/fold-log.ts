import type {LoggedEvent} from '../protocol/event.ts'
import {evolve} from '../protocol/evolve.ts'
import {isFenced, type SessionState} from '../protocol/session.ts'

/**
 * What a device acts on: everything confirmed, then its own pending events in the order it wrote them, without those
 * that moved custody has fenced off: the server will refuse them, and nothing may be built on them until then. [LOG-2]
 */
export function foldPending(confirmed: SessionState, pending: readonly LoggedEvent[]): SessionState {
  return pending.reduce((state, event) => (isFenced(state, event) ? state : evolve(state, event)), confirmed)
}

/**
 * What newly confirmed events cut off of this device's pending work, and the first of them that did: from there on the
 * session belongs to another holder. Null when nothing is lost. [CUS-4]
 */
export function fencedOff(
  confirmed: SessionState,
  fresh: readonly LoggedEvent[],
  pending: readonly LoggedEvent[],
): {seq: number; events: LoggedEvent[]} | null {
  const events = fencedIn(fresh.reduce(evolve, confirmed), pending)
  if (events.length === 0) return null
  let state = confirmed
  for (const event of fresh) {
    state = evolve(state, event)
    if (fencedIn(state, events).length > 0) return {seq: event.seq ?? state.head, events}
  }
  return {seq: state.head + 1, events}
}

function fencedIn(confirmed: SessionState, pending: readonly LoggedEvent[]): LoggedEvent[] {
  const fenced: LoggedEvent[] = []
  pending.reduce((state, event) => {
    if (!isFenced(state, event)) return evolve(state, event)
    fenced.push(event)
    return state
  }, confirmed)
  return fenced
}

/** The events that follow the head without a gap; what is already here is skipped. [SYNC-3] */
export function followOn<E extends {seq: number | null}>(events: readonly E[], head: number): E[] {
  const fresh: E[] = []
  for (const event of events) {
    if (event.seq === head + fresh.length + 1) fresh.push(event)
  }
  return fresh
}
