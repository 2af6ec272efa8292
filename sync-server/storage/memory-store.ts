import type {MemoryId, SessionId} from '../../runtime/protocol/ids.ts'
import type {MemoryItem, MemoryProposal, MemoryRecord, MemorySource} from '../../runtime/protocol/memory.ts'
import type {Owner} from '../principal.ts'
import type {AuditEntry} from './store.ts'

export type MemoryRef = Owner & {id: MemoryId}

/** A record with its vector of one embedder, or null if it has none. */
export type EmbeddedMemory = {item: MemoryRecord; vector: Float32Array | null}

/** What an erasure removed, for its receipt. */
export type ErasedMemory = {items: MemoryId[]}

/**
 * The memories of all subjects, independent of sessions. Every save gets the subject's next cursor, so a reader that
 * continues from a cursor misses nothing. A tombstone leaves no text, key, source, history or vector in any row.
 * [MEM-1, MEM-3]
 */
export interface MemoryStore {
  /** Runs `work` in one transaction that locks the subject's memory. */
  locked<T>(owner: Owner, work: (memory: LockedMemory) => Promise<T>): Promise<T>
  /**
   * Items changed after the cursor, oldest change first, at most `limit`. `head` is the cursor of the subject's last
   * change.
   */
  changes(
    owner: Owner,
    after: number,
    limit: number,
  ): Promise<{changes: {item: MemoryItem; cursor: number}[]; head: number}>
  /**
   * All items in force, or those with these ids, each with its vector of this embedder. Includes items whose validity
   * has ended.
   */
  inForce(owner: Owner, embedder: string, ids?: readonly MemoryId[]): Promise<EmbeddedMemory[]>
  /** References of items in force whose validity ended before `now` (ms), across tenants. */
  overdue(now: number, limit: number): Promise<MemoryRef[]>
  /** References of items not forgotten and unchanged since `before` (ms), across tenants. */
  untouched(before: number, limit: number): Promise<MemoryRef[]>
  /**
   * Forgets every item derived from a session, also in part, in any status. Tombstones are kept, so that replicas
   * receive the change and a late proposal with the same id is refused. [RET-2, RET-4]
   */
  eraseBySession(where: Owner & {session: SessionId}, at: number): Promise<ErasedMemory>
  /** Forgets all items of a subject, with tombstones as above. [RET-2] */
  eraseBySubject(owner: Owner, at: number): Promise<ErasedMemory>
}

/** One subject's memory under its lock. Valid only inside `work`. */
export interface LockedMemory {
  byIds(ids: readonly MemoryId[]): Promise<Map<MemoryId, MemoryItem>>
  /** Items that are in force or await a decision. */
  open(): Promise<MemoryRecord[]>
  /** True if all of these events are in logs of this subject's own sessions. */
  hasSources(sources: readonly MemorySource[]): Promise<boolean>
  /** True if an item derived from one of these events under this key was corrected or forgotten. [MEM-5] */
  isSettled(proposal: Pick<MemoryProposal, 'sources' | 'key'>): Promise<boolean>
  /** Saves an item. For a forgotten or corrected item it also records the sources, for `isSettled`. */
  save(item: MemoryItem, audit: AuditEntry): Promise<void>
  saveVector(id: MemoryId, embedder: string, vector: Float32Array): Promise<void>
}
