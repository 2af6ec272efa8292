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

/** The events that follow the head without a gap; what is already here is skipped. [SYNC-3] */
export function followOn<E extends {seq: number | null}>(events: readonly E[], head: number): E[] {
  const fresh: E[] = []
  for (const event of events) {
    if (event.seq === head + fresh.length + 1) fresh.push(event)
  }
  return fresh
}
