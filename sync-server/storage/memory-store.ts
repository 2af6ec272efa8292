import type {MemoryId, SessionId} from '../../runtime/protocol/ids.ts'
import type {MemoryItem, MemoryProposal, MemoryRecord, MemorySource} from '../../runtime/protocol/memory.ts'
import type {Owner} from '../principal.ts'
import type {AuditEntry} from './store.ts'

export type MemoryRef = Owner & {id: MemoryId}

/** A record with its vector of one embedder; null while it has none. */
export type EmbeddedMemory = {item: MemoryRecord; vector: Float32Array | null}

/** What an erasure took, for its receipt. */
export type ErasedMemory = {items: MemoryId[]}

/**
 * The memories of all subjects, apart from every session. Whatever is saved gets the subject's next cursor, so a reader
 * who goes on from one misses nothing. What is saved as a tombstone leaves no text, key, source, history or vector in any
 * row. [MEM-1, MEM-3]
 */
export interface MemoryStore {
  /** Runs `work` in one transaction that holds the subject's memory: all of it is kept, or nothing. */
  locked<T>(owner: Owner, work: (memory: LockedMemory) => Promise<T>): Promise<T>
  /** Items changed after the cursor, oldest change first, at most `limit`; `head` is the cursor of the last change of all. */
  changes(
    owner: Owner,
    after: number,
    limit: number,
  ): Promise<{changes: {item: MemoryItem; cursor: number}[]; head: number}>
  /**
   * What is in force, all of it or only these, each with its vector of this embedder; ended validity is not filtered here.
   */
  inForce(owner: Owner, embedder: string, ids?: readonly MemoryId[]): Promise<EmbeddedMemory[]>
  /** In force although their validity ended before `now` (ms): across tenants, as references only. */
  overdue(now: number, limit: number): Promise<MemoryRef[]>
  /** Not yet forgotten and untouched since before a time (ms): across tenants, as references only. */
  untouched(before: number, limit: number): Promise<MemoryRef[]>
  /**
   * Forgets every item that was made, be it in part, from a session, whatever its status. Tombstones stay, so that
   * replicas hear of it and a late proposal of the same id stays out. [RET-2, RET-4]
   */
  eraseBySession(where: Owner & {session: SessionId}, at: number): Promise<ErasedMemory>
  /** Forgets everything of a subject; as above. [RET-2] */
  eraseBySubject(owner: Owner, at: number): Promise<ErasedMemory>
}

/** One subject's memory under its lock; valid only inside `work`. */
export interface LockedMemory {
  byIds(ids: readonly MemoryId[]): Promise<Map<MemoryId, MemoryItem>>
  /** Those in force, and those that wait for a decision. */
  open(): Promise<MemoryRecord[]>
  /** Whether all of these events are in the log of sessions of this subject's own. */
  hasSources(sources: readonly MemorySource[]): Promise<boolean>
  /** Whether a person corrected, or something forgot, what was made of one of these events under this key. [MEM-5] */
  isSettled(proposal: Pick<MemoryProposal, 'sources' | 'key'>): Promise<boolean>
  /** Also notes the sources of an item that it forgets or corrects, so that `isSettled` knows them. */
  save(item: MemoryItem, audit: AuditEntry): Promise<void>
  saveVector(id: MemoryId, embedder: string, vector: Float32Array): Promise<void>
}
