import type {BlobId} from '../protocol/blob.ts'
import type {Said} from '../protocol/decision-words.ts'
import type {DivergenceRecord, Resolution} from '../protocol/divergence.ts'
import type {Kind, LoggedEvent} from '../protocol/event.ts'
import type {Fact} from '../protocol/fact.ts'
import type {DeviceId, ErasureId, EventId, RunId, SessionId, StepId, SubjectId, TenantId} from '../protocol/ids.ts'
import type {Person} from '../protocol/person.ts'
import type {SessionState} from '../protocol/session.ts'
import type {DurableEvent} from '../protocol/transcript.ts'
import type {AgentListing} from '../protocol/wire.ts'

/** What a device keeps of one session besides its events. */
export type SessionRecord = {
  id: SessionId
  /** Folded from confirmed events only. */
  confirmed: SessionState
  /** Folded from confirmed events, then the pending ones. */
  current: SessionState
  /** The highest device sequence used so far. */
  deviceSeq: number
  excerpt: string
  updatedAt: number
}

/** A shared document: the last snapshot, and the updates since then. */
export type StoredDocument = {snapshot: Uint8Array | null; updates: Uint8Array[]}

export type WrittenEvent = {
  event: LoggedEvent
  basedOn: number | null
  status: 'pending' | 'accepted' | 'rejected'
  divergence: EventId | null
}

/** Limits of a window. `bytes` is the size of the JSON. Default of `before`: the end of the log. `including` includes `before`. */
export type LogWindow = {events: number; bytes: number; before?: EventId; including?: boolean}

/** Pending events that were fenced off when custody moved. With `divergence`, they wait for the person's choice. */
export type SetAside = {
  session: SessionId
  events: readonly EventId[]
  reason: string
  head: number
  divergence: {id: EventId; base: number} | null
}

/** Whether the server has a blob, as far as this device knows. `no_room`: the server refused it for lack of space. */
export type BlobState = 'unsent' | 'no_room' | 'sent'

/** Bytes by the hash of their content, as one session holds them. */
export interface BlobReads {
  /** Reads a blob of the session or of its inherited events. */
  blob(session: SessionId, id: BlobId): Promise<Uint8Array | null>
  /** Total size of the session's blobs in bytes. */
  blobBytes(session: SessionId): Promise<number>
  /** Lists unsent blobs, oldest first. */
  unsentBlobs(session: SessionId): Promise<{id: BlobId; noRoom: boolean}[]>
}

export interface EventReads {
  /** An event of the session or of what it inherits, unless it was rejected. */
  event(session: SessionId, id: EventId): Promise<LoggedEvent | null>
}

/**
 * Guarantee of every method: a write is durable when its promise resolves, and a rejected call changed nothing.
 * Only one process may have a store open.
 */
export interface DeviceStore extends BlobReads, EventReads {
  /** Returns the id of this device, which is created on first use, and whether the user wants it online. */
  device(): Promise<{id: DeviceId; online: boolean}>
  setOnline(online: boolean): Promise<void>
  /** Owner of the database. Null before first use. The tenant is null if an earlier build wrote the owner. [ID-6] */
  owner(): Promise<{tenant: TenantId | null; subject: SubjectId} | null>
  setOwner(owner: Person): Promise<void>
  /** Number of events, memory changes and proposals that the server does not have. */
  unsent(): Promise<number>
  sessions(): Promise<SessionRecord[]>
  session(id: SessionId): Promise<SessionRecord | null>
  /** Runs `work` in one transaction. Its writes become visible only when all are durable. */
  transaction<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>
  /**
   * Returns the last `limit` events in log order, oldest first. `kinds` filters them. A fork includes inherited events.
   * [LOG-2, RUN-6]
   */
  read(session: SessionId, limit: number, kinds?: readonly Kind[]): Promise<DurableEvent[]>
  /**
   * Returns the newest events within the limits, in log order, including inherited ones. Returns at least one, even if it
   * exceeds `bytes`. The cost depends on the size of the result, not of the log. `earlier`: there are older events.
   *
   * @throws HoldfastError `not_found` for a `before` that is not in this session
   */
  window(session: SessionId, asked: LogWindow): Promise<{events: DurableEvent[]; earlier: boolean}>
  /** Returns results, verdicts and receipts of calls at or after an event, oldest first. */
  outcomesAfter(session: SessionId, event: EventId, limit: number): Promise<DurableEvent[]>
  byIds(ids: readonly EventId[]): Promise<LoggedEvent[]>
  /** The event that prepared a step, of whichever session; null when this device has none. */
  prepared(run: RunId, step: StepId): Promise<LoggedEvent | null>
  /** The confirmed events of these kinds up to a seq, in log order, with what the session inherits. [WRK-3] */
  asOf(session: SessionId, seq: number, kinds: readonly Kind[]): Promise<LoggedEvent[]>
  pending(session: SessionId, limit: number): Promise<LoggedEvent[]>
  pendingIds(session: SessionId, limit: number): Promise<EventId[]>
  /** Returns rejected events. `divergence` is set for those that belong to one. */
  rejected(session: SessionId): Promise<{event: LoggedEvent; reason: string; divergence: EventId | null}[]>
  /** Own events, of these kinds if any are named, without what the session inherits, in log order. */
  own(session: SessionId, kinds: readonly Kind[] | null): Promise<DurableEvent[]>
  /** What has happened in a session since a seq, each with the head its device had when it wrote it, by device order. */
  since(session: SessionId, seq: number): Promise<WrittenEvent[]>
  /** Lists the divergences of a session, oldest first. [CUS-4] */
  divergences(session: SessionId): Promise<DivergenceRecord[]>
  /** The session that a run was started in; null if this device has no such run. */
  sessionOfRun(run: RunId): Promise<SessionId | null>
  fact(key: string): Promise<(Fact & {fetchedAt: number}) | null>
  saveFact(fact: Fact, fetchedAt: number): Promise<void>
  /** Like `saveFact`, but only updates an existing copy, so that an erased one is not restored. [RET-3] */
  renewFact(fact: Fact, fetchedAt: number): Promise<void>
  forgetFact(key: string): Promise<void>
  /** Keys of all copies that this device holds. */
  factKeys(): Promise<string[]>
  /** The server's registry of agents as it was last fetched, or null. */
  agents(): Promise<{agents: AgentListing[]; fetchedAt: number} | null>
  saveAgents(agents: readonly AgentListing[], fetchedAt: number): Promise<void>
  document(session: SessionId, name: string): Promise<StoredDocument | null>
  /** Sets the upload state. It affects only uploads, not which blobs are kept. */
  markBlob(session: SessionId, id: BlobId, state: BlobState): Promise<void>
  /**
   * Minimum head of the session before the database was damaged or restored from a backup, or 0. The server sends the
   * missing events. Until then the session must not be written to. [LOG-9]
   */
  highWater(session: SessionId): number
  erased(session: SessionId): Promise<ErasedSession | null>
  allErased(): Promise<ErasedSession[]>
  /** Rewrites the files so that deleted data cannot be read from them. Blocks all other work. [RET-3] */
  scrub(): Promise<void>
}

/** An erased session as its device remembers it. [RET-3] */
export type ErasedSession = {
  session: SessionId
  erasure: ErasureId
  why: 'requested' | 'retention'
  at: number
  /** Number of messages that existed only on this device: unsent, or refused by the server. */
  unsent: number
}

export interface UnitOfWork extends BlobReads, EventReads {
  /** Saves events as pending, in the given order. Refuses an event whose blob is not on this device. */
  append(events: readonly LoggedEvent[], head: number): Promise<void>
  /** Inserts events as confirmed at their seqs, or marks existing ones as confirmed. Ids must be unique. */
  confirm(events: readonly LoggedEvent[]): Promise<void>
  /** Replaces the device sequences of pending events of one session. */
  renumber(session: SessionId, events: readonly LoggedEvent[]): Promise<void>
  /** Marks an event as rejected with a reason. It keeps its place in the log. [SYNC-2] */
  reject(id: EventId, reason: string, head: number): Promise<void>
  /** Marks events that can no longer be confirmed as rejected. Records a divergence unless `divergence` is null. */
  setAside(work: SetAside): Promise<void>
  /** Records a choice, or clears it with null. Returns false if another choice is already recorded. */
  resolve(divergence: EventId, resolution: Resolution | null): Promise<boolean>
  basedOn(ids: readonly EventId[]): Promise<number[]>
  /** The last confirmed event before `seq` that this device wrote before its own `deviceSeq`; 0 for none. */
  lastOwn(session: SessionId, device: DeviceId, before: {seq: number; deviceSeq: number}): Promise<number>
  save(record: SessionRecord): Promise<void>
  /** Like `save`, but assumes that the confirmed state has not changed since it was last saved. */
  advance(record: SessionRecord): Promise<void>
  pending(session: SessionId): Promise<LoggedEvent[]>
  byIds(ids: readonly EventId[]): Promise<LoggedEvent[]>
  /** Sessions that branched off this one, with the last event that each inherits. */
  forks(session: SessionId): Promise<{session: SessionId; seq: number}[]>
  /** Like `asOf` of the store. Includes writes of this unit. [WRK-3] */
  asOf(session: SessionId, seq: number, kinds: readonly Kind[]): Promise<LoggedEvent[]>
  /** Appends an update after the snapshot. The cost depends on the update, not on the document. Returns the totals. */
  addToDocument(session: SessionId, name: string, update: Uint8Array): Promise<{updates: number; bytes: number}>
  /** Replaces the snapshot and all its updates. */
  saveDocument(session: SessionId, name: string, snapshot: Uint8Array): Promise<void>
  document(session: SessionId, name: string): Promise<StoredDocument | null>
  /** Saves a blob. The caller must have verified its id. Idempotent, and repairs damaged bytes. */
  saveBlob(session: SessionId, blob: {id: BlobId; bytes: Uint8Array; state: BlobState}): Promise<void>
  fact(key: string): Promise<(Fact & {fetchedAt: number}) | null>
  saveFact(fact: Fact, fetchedAt: number): Promise<void>
  /** Deletes a session and records its erasure. Idempotent. [RET-3] */
  eraseSession(session: SessionId, by: Omit<ErasedSession, 'session' | 'unsent'>): Promise<void>
  /** Removes from a branch's own events what was copied from its source: title, slots and summaries. [RET-2] */
  dropInherited(session: SessionId): Promise<void>
  /** Removes these words of a person from every event of the session that holds them. [RET-2] */
  dropWords(session: SessionId, saidBy: SubjectId, said: readonly Said[]): Promise<void>
  /** Deletes the copies of facts and memory. They belong to a subject, not to a session. */
  eraseFacts(): Promise<void>
  /** Deletes the document snapshots of a session. They can be rebuilt from its events. */
  dropDocuments(session: SessionId): Promise<void>
  /** The application's own tables, in the same transaction. */
  sql<Row>(query: string, params?: unknown[]): Promise<Row[]>
}

/**
 * Data derived from events, written in the transaction that stores them. `apply` must be idempotent, because an event can
 * be applied again.
 */
export interface Projection {
  apply(unit: UnitOfWork, session: SessionId, events: readonly LoggedEvent[]): Promise<void>
}
