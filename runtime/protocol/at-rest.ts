import {isActive} from './run.ts'
import type {SessionState} from './session.ts'

/**
 * Whether the holder has no work in progress: no run is active, the run sleeps, or every open call is an operation of
 * the server. Then custody may move without losing work. A holder that is about to go on appends an event first, and
 * the server decides under its lock which of the two came first. [CUS-1, CUS-3]
 */
export function isAtRest({run, calls, operations}: Pick<SessionState, 'run' | 'calls' | 'operations'>): boolean {
  if (!run || !isActive(run) || run.rest?.asleep) return true
  const proposed = new Set(operations.map(({call}) => call))
  return calls.length > 0 && calls.every(({id}) => proposed.has(id))
}
