import type {Json} from './json.ts'
import {hasEnded, isVoidable, type OperationState} from './operation.ts'
import {policyOf, type SessionState} from './session.ts'
import type {DurableEvent} from './transcript.ts'

/** One operation that has not ended, wherever in the conversation it was proposed. */
export type OpenOperation = Pick<OperationState, 'id' | 'call' | 'run' | 'tool' | 'status' | 'approval'> & {
  input: Json
  /** The operation has not started: a correction, a cancellation or closing the session still voids it. [RUN-4] */
  voidable: boolean
  /** The event on this device that will void it once the server accepts it; null if there is none. */
  unsentVoid: 'message' | 'cancel' | 'close' | null
}

/** Event kinds that `openOperations` reads. */
export const openOperationKinds = ['operation.proposed', 'message.posted', 'run.cancelled', 'session.closed'] as const

const voids = {'message.posted': 'message', 'run.cancelled': 'cancel', 'session.closed': 'close'} as const

/** Returns the operations that have not ended, oldest first. `events`: the session's events of `openOperationKinds`. */
export function openOperations(state: SessionState, events: readonly DurableEvent[]): OpenOperation[] {
  const proposals = new Map(events.flatMap((durable, place) => proposalAt(durable, place)))
  const unsent = events.flatMap((durable, place) => unsentVoidAt(state, durable, place))
  return state.operations
    .filter(operation => !hasEnded(operation))
    .map(operation => {
      const {id, call, run, tool, status, approval} = operation
      const proposal = proposals.get(id)
      const voidable = isVoidable(operation)
      const after = unsent.findLast(({place}) => place > (proposal?.place ?? -1))
      const unsentVoid = voidable ? (after?.by ?? null) : null
      return {id, call, run, tool, status, approval, input: proposal?.input ?? null, voidable, unsentVoid}
    })
}

/** Whether the events include the proposal of every operation that has not ended. */
export function holdsProposals(state: SessionState, events: readonly DurableEvent[]): boolean {
  const proposals = new Map(events.flatMap((durable, place) => proposalAt(durable, place)))
  return state.operations.every(operation => hasEnded(operation) || proposals.has(operation.id))
}

type Proposal = [operation: string, at: {place: number; input: Json}]

function proposalAt({event, durability}: DurableEvent, place: number): Proposal[] {
  if ('unreadable' in event || event.kind !== 'operation.proposed' || durability.status === 'rejected') return []
  return [[event.data.operation, {place, input: event.data.input}]]
}

type UnsentVoid = {place: number; by: NonNullable<OpenOperation['unsentVoid']>}

function unsentVoidAt(state: SessionState, {event, durability}: DurableEvent, place: number): UnsentVoid[] {
  if ('unreadable' in event || durability.status !== 'device' || !(event.kind in voids)) return []
  // A queued message is read after the run ends, so it corrects nothing. [RUN-3]
  if (event.kind === 'message.posted' && policyOf(state, event.data) === 'queue') return []
  return [{place, by: voids[event.kind as keyof typeof voids]}]
}
