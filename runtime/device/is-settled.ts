import type {LoopState, Waiting} from '../loop/run-loop.ts'
import type {Connection} from '../protocol/session-view.ts'

/** `soon`: the server answers, or may do so shortly. `apart`: it will not answer until something changes. */
type Reach = 'soon' | 'apart'

const reachOf: Record<Connection['state'], Reach> = {
  live: 'soon',
  polling: 'soon',
  connecting: 'soon',
  cut: 'apart',
  unreachable: 'apart',
  unauthenticated: 'apart',
  local_only: 'apart',
}

/** What rests on a person or another device is an end here; what rests on the server is one only without it. */
const settledWhile: Record<'nothing' | Waiting['for'], Record<Reach, boolean>> = {
  nothing: {soon: true, apart: true},
  approval: {soon: true, apart: true},
  custody: {soon: true, apart: true},
  version: {soon: true, apart: true},
  wake: {soon: true, apart: true},
  operation: {soon: false, apart: true},
  server: {soon: false, apart: true},
}

/** Nothing is left to do here by itself; the whole of it is the two tables above. */
export function isSettled(loop: Pick<LoopState, 'working' | 'waiting'>, connection: Connection['state']): boolean {
  return !loop.working && settledWhile[loop.waiting?.for ?? 'nothing'][reachOf[connection]]
}
