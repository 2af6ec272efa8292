import type {Kind, LoggedEvent} from '../protocol/event.ts'
import type {Fact} from '../protocol/fact.ts'
import type {DeviceId, EventId, RunId, SessionId, StepId} from '../protocol/ids.ts'
import type {SessionState} from '../protocol/session.ts'
import type {DurableEvent} from '../protocol/transcript.ts'

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

/**
 * Guarantee of every method: what a resolved promise reports is on disk; a rejected one changed nothing.
 * One process opens a store at a time.
 */
export interface DeviceStore {
  /** This device's id, made on first use and kept with the data; whether its user wants it online. */
  device(): Promise<{id: DeviceId; online: boolean}>
  setOnline(online: boolean): Promise<void>
  sessions(): Promise<SessionRecord[]>
  session(id: SessionId): Promise<SessionRecord | null>
  /** All of `work` in one transaction: nothing of it is seen unless all of it is durable. */
  transaction<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T>
  /**
   * The last `limit` events, of these kinds if any are named, in log order, oldest first; a fork goes on into the record
   * it inherits. [LOG-2, RUN-6]
   */
  read(session: SessionId, limit: number, kinds?: readonly Kind[]): Promise<DurableEvent[]>
  byIds(ids: readonly EventId[]): Promise<LoggedEvent[]>
  /** The event that prepared a step, of whichever session; null when this device has none. */
  prepared(run: RunId, step: StepId): Promise<LoggedEvent | null>
  /** The confirmed events of these kinds up to a seq, in log order, with what the session inherits. [WRK-3] */
  asOf(session: SessionId, seq: number, kinds: readonly Kind[]): Promise<LoggedEvent[]>
  pending(session: SessionId, limit: number): Promise<LoggedEvent[]>
  rejected(session: SessionId): Promise<{event: LoggedEvent; reason: string}[]>
  fact(key: string): Promise<(Fact & {fetchedAt: number}) | null>
  saveFact(fact: Fact, fetchedAt: number): Promise<void>
  document(session: SessionId, name: string): Promise<StoredDocument | null>
}

export interface UnitOfWork {
  /** Saves the events as pending, in the order given. */
  append(events: readonly LoggedEvent[]): Promise<void>
  /** Saves or upgrades an event to confirmed at its seq. */
  confirm(event: LoggedEvent): Promise<void>
  /** Keeps a refused event where it stood, with the reason. [SYNC-2] */
  reject(id: EventId, reason: string, head: number): Promise<void>
  save(record: SessionRecord): Promise<void>
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
  fact(key: string): Promise<(Fact & {fetchedAt: number}) | null>
  saveFact(fact: Fact, fetchedAt: number): Promise<void>
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
