import type {EventId, MemoryChangeId, MemoryId, SessionId} from '../../protocol/ids.ts'
import type {MemoryProposal} from '../../protocol/memory.ts'
import type {QueuedChange} from '../memory-store.ts'
import type {OutboxRecord, Refusal, StoredEvent} from './outbox-record.ts'

type Of<Type extends OutboxRecord['type']> = Extract<OutboxRecord, {type: Type}>

export type KeptEvent = {event: StoredEvent; head: number; refusal: Refusal | null}
export type Mark = {head: number; deviceSeq: number}

/** The folded records of an outbox: all acknowledged, unsent data, and the progress of each session. */
export type OutboxState = {
  device: Of<'device'> | null
  events: Map<EventId, KeptEvent>
  blobs: Map<string, Of<'blob'>>
  resolutions: Map<EventId, Of<'resolved'>['resolution']>
  /** Highest known head and device sequence of each session: lower bounds. */
  marks: Map<SessionId, Mark>
  changes: Map<MemoryChangeId, QueuedChange>
  proposals: Map<MemoryId, MemoryProposal>
  /** The latest recovery report, including a dismissed one. */
  recovery: Of<'recovery'> | null
}

export function emptyOutbox(): OutboxState {
  return {
    device: null,
    events: new Map(),
    blobs: new Map(),
    resolutions: new Map(),
    marks: new Map(),
    changes: new Map(),
    proposals: new Map(),
    recovery: null,
  }
}

export const blobKey = (session: SessionId, id: string) => `${session}/${id}`

/** Folds one record into `state`. Mutates it, because the outbox of a device without a server may hold its whole log. */
export function applyRecord(state: OutboxState, record: OutboxRecord): void {
  switch (record.type) {
    case 'device':
      state.device = record
      break
    case 'events':
      for (const event of record.events) state.events.set(event.id, {event, head: record.head, refusal: null})
      raise(state, record.session, {head: 0, deviceSeq: Math.max(0, ...record.events.map(seqOf))})
      break
    case 'blob':
      state.blobs.set(blobKey(record.session, record.id), record)
      break
    case 'blob_sent':
      state.blobs.delete(blobKey(record.session, record.id))
      break
    case 'confirmed':
      for (const id of record.events) state.events.delete(id)
      raise(state, record.session, record)
      break
    case 'refused': {
      const {reason, head, divergence} = record
      for (const id of record.events) {
        const kept = state.events.get(id)
        if (kept) state.events.set(id, {...kept, refusal: {reason, head, divergence}})
      }
      break
    }
    case 'resolved':
      state.resolutions.set(record.divergence, record.resolution)
      break
    case 'dropped':
      dropSession(state, record.session)
      break
    case 'memory_change':
      for (const {id, item, refused} of state.changes.values()) {
        if (item === record.change.item && refused !== null) state.changes.delete(id)
      }
      state.changes.set(record.change.id, record.change)
      break
    case 'memory_change_dropped':
      state.changes.delete(record.id)
      break
    case 'memory_proposals':
      for (const proposal of record.proposals) state.proposals.set(proposal.id, proposal)
      break
    case 'memory_proposals_dropped':
      for (const id of record.ids) state.proposals.delete(id)
      break
    case 'recovery':
      state.recovery = record
  }
}

/** Returns a minimal list of records that folds to `state`. */
export function recordsOf(state: OutboxState): OutboxRecord[] {
  const refused: OutboxRecord[] = []
  const events = [...state.events.values()].map(({event, head, refusal}): OutboxRecord => {
    const {session, id} = event
    if (refusal) refused.push({type: 'refused', session, events: [id], ...refusal})
    return {type: 'events', session, head, events: [event]}
  })
  return [
    ...(state.device ? [state.device] : []),
    ...[...state.marks].map(([session, mark]): OutboxRecord => ({type: 'confirmed', session, events: [], ...mark})),
    ...state.blobs.values(),
    ...events,
    ...refused,
    ...[...state.resolutions].map(
      ([divergence, resolution]): OutboxRecord => ({type: 'resolved', divergence, resolution}),
    ),
    ...[...state.changes.values()].map((change): OutboxRecord => ({type: 'memory_change', change})),
    ...(state.proposals.size > 0
      ? [{type: 'memory_proposals' as const, proposals: [...state.proposals.values()]}]
      : []),
    ...(state.recovery ? [state.recovery] : []),
  ]
}

function raise(state: OutboxState, session: SessionId, {head, deviceSeq}: Mark): void {
  const before = state.marks.get(session) ?? {head: 0, deviceSeq: 0}
  state.marks.set(session, {head: Math.max(before.head, head), deviceSeq: Math.max(before.deviceSeq, deviceSeq)})
}

function dropSession(state: OutboxState, session: SessionId): void {
  for (const [id, kept] of state.events) if (kept.event.session === session) state.events.delete(id)
  for (const [key, blob] of state.blobs) if (blob.session === session) state.blobs.delete(key)
  state.marks.delete(session)
}

function seqOf({deviceSeq}: StoredEvent): number {
  return deviceSeq ?? 0
}
