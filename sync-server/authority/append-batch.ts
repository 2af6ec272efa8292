import type {Environment} from '../../runtime/protocol/environment.ts'
import {type Actor, type DataOf, type Event, readEvent, type ServerKind} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {EventId, RunId, SessionId} from '../../runtime/protocol/ids.ts'
import {operationTransitions} from '../../runtime/protocol/operation.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {SealedEvent} from '../storage/store.ts'
import {contentHash} from './hash.ts'

/** What the server says; waking a run is the control plane's wherever it runs, so the holder may say it too. */
type ServiceKind = ServerKind | 'run.woken'

/** What a service of the server wants to say; the batch adds identity, order and time. */
export type ServiceDraft = {
  [K in ServiceKind]: {kind: K; data: DataOf<K>; run?: RunId; causes?: EventId[]}
}[ServiceKind]
export type ServiceName = Extract<Actor, {type: 'service'}>['name']

/** Events that are about to commit together, folded as they are added, so that each is decided on what came before. */
export type AppendBatch = {
  readonly state: SessionState
  readonly sealed: readonly SealedEvent[]
  /** Gives a device's event the next sequence number. */
  accept(event: Event, hash: string): Event & {seq: number}
  /** Writes an event of the server's own; refuses, by throwing, one that does not match the schema. */
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

/** An event is written by the service that its transition belongs to. [RUN-1] */
export function serviceFor(draft: ServiceDraft): ServiceName {
  const row = operationTransitions[draft.kind as keyof typeof operationTransitions]
  if (row?.owner === 'approval service') return 'approvals'
  return row?.owner === 'operation service' ? 'operations' : 'control'
}
