import type {Event, LoggedEvent} from '../../runtime/protocol/event.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {History} from './history.ts'
import type {Rules} from './rules.ts'

/** Equal values share one object and one number, so that whatever was computed of them once need not be again. */
export function pool() {
  const shared = new Map<string, object>()
  const numbers = new WeakMap<object, number>()
  const share = <T extends object>(value: T): T => {
    if (numbers.has(value)) return value
    const text = JSON.stringify(value)
    const known = shared.get(text)
    if (known) return known as T
    numbers.set(value, shared.size)
    shared.set(text, value)
    return value
  }
  return {share, number: (value: object): number => numbers.get(share(value)) ?? -1}
}
export type Pool = ReturnType<typeof pool>

/** The same rules; what they have folded once they look up. Sound because they are pure, and fast enough to be exhaustive. */
export function remembering(rules: Rules, {share, number}: Pool): Rules {
  const evolved = new WeakMap<object, WeakMap<object, SessionState>>()
  const folded = new Map<string, SessionState>()
  const evolve = (state: SessionState, event: LoggedEvent): SessionState => {
    const after = evolved.get(state) ?? new WeakMap<object, SessionState>()
    evolved.set(state, after)
    const known = after.get(event)
    if (known) return known
    const next = share(rules.evolve(state, event))
    after.set(event, next)
    return next
  }
  const foldPending: Rules['foldPending'] = (confirmed, pending) => {
    const key = [number(confirmed), ...pending.map(number)].join()
    const known = folded.get(key)
    if (known) return known
    const state = share(rules.foldPending(confirmed, pending))
    folded.set(key, state)
    return state
  }
  const observed = new WeakMap<object, WeakMap<object, History>>()
  const observe: Rules['observe'] = (history, event) => {
    const after = observed.get(history) ?? new WeakMap<object, History>()
    observed.set(history, after)
    const next = after.get(event) ?? share(rules.observe(history, event))
    after.set(event, next)
    return next
  }
  const placed = new WeakMap<Event, Map<number, Event & {seq: number}>>()
  const numbered: Rules['numbered'] = (event, seq) => {
    const places = placed.get(event) ?? new Map<number, Event & {seq: number}>()
    placed.set(event, places)
    const known = places.get(seq) ?? share(rules.numbered(event, seq))
    places.set(seq, known)
    return known
  }
  return {...rules, evolve, foldPending, observe, numbered, same: share}
}
