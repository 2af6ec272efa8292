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

/** A shared document: what was last folded, and what came since. */
export type StoredDocument = {snapshot: Uint8Array | null; updates: Uint8Array[]}

export type WrittenEvent = {
  event: LoggedEvent
  basedOn: number | null
  status: 'pending' | 'accepted' | 'rejected'
  divergence: EventId | null
}

/** `bytes` counts the JSON of the events. Without `before`, the window ends with the log; `including` counts that event in. */
export type LogWindow = {events: number; bytes: number; before?: EventId; including?: boolean}

/** Pending events that moved custody cut off; with `divergence`, they wait for the person's choice. */
export type SetAside = {
  session: SessionId
  events: readonly EventId[]
  reason: string
  head: number
  divergence: {id: EventId; base: number} | null
}

/** Whether the server has a blob, as far as this device knows; `no_room`: it has said that it does not take it. */
export type BlobState = 'unsent' | 'no_room' | 'sent'

/** Bytes by the hash of their content, as one session holds them. */
export interface BlobReads {
  /** Of the session, or of what it inherits. */
  blob(session: SessionId, id: BlobId): Promise<Uint8Array | null>
  /** What the blobs of a session come to. */
  blobBytes(session: SessionId): Promise<number>
  /** Those that are not sent, oldest first. */
  unsentBlobs(session: SessionId): Promise<{id: BlobId; noRoom: boolean}[]>
}

export interface EventReads {
  /** An event of the session or of what it inherits, unless it was rejected. */
  event(session: SessionId, id: EventId): Promise<LoggedEvent | null>
}

/**
 * Guarantee of every method: what a resolved promise reports is on disk; a rejected one changed nothing.
 * One process opens a store at a time.
 */
export interface DeviceStore extends BlobReads, EventReads {
  /** This device's id, made on first use and kept with the data; whether its user wants it online. */
  device(): Promise<{id: DeviceId; online: boolean}>
  setOnline(online: boolean): Promise<void>
  /** Whose database this is; null while nobody has used it, the tenant while only an earlier build has. [ID-6] */
  owner(): Promise<{tenant: TenantId | null; subject: SubjectId} | null>
  setOwner(owner: Person): Promise<void>
  /** Events, and changes and proposals of memory, that the server does not have yet. */
  unsent(): Promise<number>
  sessions(): Promise<SessionRecord[]>
  session(id: SessionId): Promise<SessionRecord | null>
  /** All of `work` in one transaction: nothing of it is seen unless all of it is durable. */
  transaction<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>
  /**
   * The last `limit` events, of these kinds if any are named, in log order, oldest first; a fork goes on into the record
   * it inherits. [LOG-2, RUN-6]
   */
  read(session: SessionId, limit: number, kinds?: readonly Kind[]): Promise<DurableEvent[]>
  /**
   * The newest events that fit, in log order, with what a fork inherits: at least one, also when it alone is larger. Costs
   * the size of the answer, however long the log is. `earlier` says that there are more before them.
   *
   * @throws HoldfastError `not_found` for a `before` that is not in this session
   */
  window(session: SessionId, asked: LogWindow): Promise<{events: DurableEvent[]; earlier: boolean}>
  /** Results, verdicts and receipts of calls that stand at or after an event, oldest first. */
  outcomesAfter(session: SessionId, event: EventId, limit: number): Promise<DurableEvent[]>
  byIds(ids: readonly EventId[]): Promise<LoggedEvent[]>
  /** The event that prepared a step, of whichever session; null when this device has none. */
  prepared(run: RunId, step: StepId): Promise<LoggedEvent | null>
  /** The confirmed events of these kinds up to a seq, in log order, with what the session inherits. [WRK-3] */
  asOf(session: SessionId, seq: number, kinds: readonly Kind[]): Promise<LoggedEvent[]>
  pending(session: SessionId, limit: number): Promise<LoggedEvent[]>
  pendingIds(session: SessionId, limit: number): Promise<EventId[]>
  /** With the divergence that an event was set aside to, if it was. */
  rejected(session: SessionId): Promise<{event: LoggedEvent; reason: string; divergence: EventId | null}[]>
  /** Own events, of these kinds if any are named, without what the session inherits, in log order. */
  own(session: SessionId, kinds: readonly Kind[] | null): Promise<DurableEvent[]>
  /** What has happened in a session since a seq, each with the head its device had when it wrote it, by device order. */
  since(session: SessionId, seq: number): Promise<WrittenEvent[]>
  /** Every set of events that moved custody cut off, oldest first. [CUS-4] */
  divergences(session: SessionId): Promise<DivergenceRecord[]>
  /** The session that a run was started in; null if this device has no such run. */
  sessionOfRun(run: RunId): Promise<SessionId | null>
  fact(key: string): Promise<(Fact & {fetchedAt: number}) | null>
  saveFact(fact: Fact, fetchedAt: number): Promise<void>
  /** As `saveFact`, but only for a copy that is still held: one that was erased meanwhile does not come back. [RET-3] */
  renewFact(fact: Fact, fetchedAt: number): Promise<void>
  forgetFact(key: string): Promise<void>
  /** Keys of all copies that this device holds. */
  factKeys(): Promise<string[]>
  /** The server's registry of agents as it was last fetched, or null. */
  agents(): Promise<{agents: AgentListing[]; fetchedAt: number} | null>
  saveAgents(agents: readonly AgentListing[], fetchedAt: number): Promise<void>
  document(session: SessionId, name: string): Promise<StoredDocument | null>
  /** Only what is sent next depends on this, never what is kept. */
  markBlob(session: SessionId, id: BlobId, state: BlobState): Promise<void>
  /**
   * The head that the session had at least before the database was damaged or put back; 0 when it is as it was left. What
   * lies between comes from the server, and until then the session is not to be worked on. [LOG-9]
   */
  highWater(session: SessionId): number
  erased(session: SessionId): Promise<ErasedSession | null>
  allErased(): Promise<ErasedSession[]>
  /** Rewrites the files, so that nothing of what was deleted can be read from them; nothing else runs meanwhile. [RET-3] */
  scrub(): Promise<void>
}

/** An erased session as its device remembers it. [RET-3] */
export type ErasedSession = {
  session: SessionId
  erasure: ErasureId
  why: 'requested' | 'retention'
  at: number
  /** Messages that had not reached the server, or were refused by it: nobody else had them. */
  unsent: number
}

export interface UnitOfWork extends BlobReads, EventReads {
  /** Saves the events as pending, in the order given; refuses one that names bytes which are not on this device. */
  append(events: readonly LoggedEvent[], head: number): Promise<void>
  /** Saves or upgrades events, no two of one id, to confirmed at their seqs. */
  confirm(events: readonly LoggedEvent[]): Promise<void>
  /** Gives pending events of one session the numbers that they carry now, in place of those that they had. */
  renumber(session: SessionId, events: readonly LoggedEvent[]): Promise<void>
  /** Keeps a refused event where it stood, with the reason. [SYNC-2] */
  reject(id: EventId, reason: string, head: number): Promise<void>
  /** Keeps events that can no longer be confirmed, as one divergence, unless it is too little to ask about. */
  setAside(work: SetAside): Promise<void>
  /** Records a choice, or takes it back; false when something else has been chosen already. */
  resolve(divergence: EventId, resolution: Resolution | null): Promise<boolean>
  basedOn(ids: readonly EventId[]): Promise<number[]>
  /** The last confirmed event before `seq` that this device wrote before its own `deviceSeq`; 0 for none. */
  lastOwn(session: SessionId, device: DeviceId, before: {seq: number; deviceSeq: number}): Promise<number>
  save(record: SessionRecord): Promise<void>
  /** As `save`, of a session that this device has only appended to: its confirmed state is as it was saved last. */
  advance(record: SessionRecord): Promise<void>
  pending(session: SessionId): Promise<LoggedEvent[]>
  byIds(ids: readonly EventId[]): Promise<LoggedEvent[]>
  /** Sessions that branched off this one, with the last event that each inherits. */
  forks(session: SessionId): Promise<{session: SessionId; seq: number}[]>
  /** As in the store, also of what this unit has written. [WRK-3] */
  asOf(session: SessionId, seq: number, kinds: readonly Kind[]): Promise<LoggedEvent[]>
  /** Writes one update behind the snapshot, so that an edit costs its own size and not the document's; how many wait there. */
  addToDocument(session: SessionId, name: string, update: Uint8Array): Promise<{updates: number; bytes: number}>
  /** Takes the place of the snapshot and of all updates behind it. */
  saveDocument(session: SessionId, name: string, snapshot: Uint8Array): Promise<void>
  document(session: SessionId, name: string): Promise<StoredDocument | null>
  /** Keeps bytes under the id that is theirs; the caller has checked it. Once more changes nothing but bytes that were spoilt. */
  saveBlob(session: SessionId, blob: {id: BlobId; bytes: Uint8Array; state: BlobState}): Promise<void>
  fact(key: string): Promise<(Fact & {fetchedAt: number}) | null>
  saveFact(fact: Fact, fetchedAt: number): Promise<void>
  /** Deletes all of a session for good and remembers only that it was erased; once more changes nothing. [RET-3] */
  eraseSession(session: SessionId, by: Omit<ErasedSession, 'session' | 'unsent'>): Promise<void>
  /** Takes off a branch what it has of its source in events of its own: title, slots and summaries. [RET-2] */
  dropInherited(session: SessionId): Promise<void>
  /** Removes these words of a person from every event of the session that holds them. [RET-2] */
  dropWords(session: SessionId, saidBy: SubjectId, said: readonly Said[]): Promise<void>
  /** Copies of facts and of memory are of a subject, of no session. */
  eraseFacts(): Promise<void>
  /** Forgets the snapshots of a session's documents; its events can make them again. */
  dropDocuments(session: SessionId): Promise<void>
  /** The application's own tables, in the same transaction. */
  sql<Row>(query: string, params?: unknown[]): Promise<Row[]>
}

/**
 * Something derived from events, kept beside the log and written in the transaction that stores them. It may be given
 * an event again, so applying one twice must equal applying it once.
 */
export interface Projection {
  apply(unit: UnitOfWork, session: SessionId, events: readonly LoggedEvent[]): Promise<void>
}
