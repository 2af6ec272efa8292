import type {Environment} from '../../runtime/protocol/environment.ts'
import {type Actor, type DataOf, type Event, readEvent, type ServerKind} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {EventId, RunId, SessionId} from '../../runtime/protocol/ids.ts'
import {operationTransitions} from '../../runtime/protocol/operation.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {SealedEvent} from '../storage/store.ts'
import {contentHash} from './hash.ts'

/**
 * The event kinds that the server writes. `run.woken` may also be written by the custody holder, because waking a run
 * belongs to the control plane wherever it runs.
 */
type ServiceKind = ServerKind | 'run.woken'

/** An event that a service of the server writes. The batch adds id, order and time. */
export type ServiceDraft = {
  [K in ServiceKind]: {kind: K; data: DataOf<K>; run?: RunId; causes?: EventId[]}
}[ServiceKind]
export type ServiceName = Extract<Actor, {type: 'service'}>['name']

/**
 * Events to be committed together. They are folded as they are added, so that each is decided on the state after the
 * previous one.
 */
export type AppendBatch = {
  readonly state: SessionState
  readonly sealed: readonly SealedEvent[]
  /** Assigns the next sequence number to a device's event. */
  accept(event: Event, hash: string): Event & {seq: number}
  /** Adds an event of the server. Throws if it does not match the schema. */
  serve(service: ServiceName, draft: ServiceDraft): Promise<Event & {seq: number}>
}

export function appendBatch(session: SessionId, start: SessionState, environment: Environment): AppendBatch {
  const sealed: SealedEvent[] = []
  let state = start
  const accept = (event: Event, hash: string) => {
    const numbered = {...event, seq: state.head + 1}
    sealed.push({event: numbered, hash})
    state = evolve(state, numbered)
    return numbered
  }
  const serve = async (service: ServiceName, draft: ServiceDraft) => {
    const event = serverEvent(session, service, draft, environment)
    return accept(event, await contentHash(event))
  }
  return {
    get state() {
      return state
    },
    sealed,
    accept,
    serve,
  }
}

export function serverEvent(
  session: SessionId,
  service: ServiceName,
  draft: ServiceDraft,
  environment: Environment,
): Event {
  const event = {
    id: environment.id('event'),
    session,
    seq: null,
    device: null,
    deviceSeq: null,
    actor: {type: 'service', name: service},
    at: environment.now(),
    v: 1,
    ...draft,
  }
  return readEvent(event) as Event
}

/** Returns the service that owns the transition and therefore writes the event. [RUN-1] */
export function serviceFor(draft: ServiceDraft): ServiceName {
  const row = operationTransitions[draft.kind as keyof typeof operationTransitions]
  if (row?.owner === 'approval service') return 'approvals'
  return row?.owner === 'operation service' ? 'operations' : 'control'
}
