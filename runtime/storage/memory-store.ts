import type {MemoryChangeId, MemoryId, RunId, SessionId} from '../protocol/ids.ts'
import type {MemoryChange, MemoryItem, MemoryProposal} from '../protocol/memory.ts'

/** A person's change that the server has not taken yet, in the order in which it was made. */
export type QueuedChange = {
  id: MemoryChangeId
  item: MemoryId
  change: MemoryChange
  /** Milliseconds since 1970 before which it is not sent, so that it can be undone. */
  notBefore: number
  /** Why the server will not have it; null while it may still be sent. */
  refused: string | null
}

/** A run whose events have not been extracted yet, or could not be. */
export type RunToExtract = {run: RunId; session: SessionId; fault: string | null}

/** Everything that a device keeps of memory, apart from sessions; methods of every part keep DeviceStore's guarantee. */
export type DeviceMemoryStore = {replica: MemoryReplica; queue: MemoryQueue; runs: ExtractionBook; vectors: VectorShelf}

/** This device's copy of its subject's memory, as the server last told it. [MEM-4] */
export interface MemoryReplica {
  /** All items, and where pulling goes on. */
  read(): Promise<{items: MemoryItem[]; cursor: number}>
  /**
   * Keeps items as they came; of a forgotten one no text stays, in no row, its vector neither. The cursor stays where it
   * is when it is null.
   */
  receive(items: readonly MemoryItem[], cursor: number | null): Promise<void>
  /** Forgets the whole copy, to pull it again from the start. */
  startOver(): Promise<void>
}

/** What waits for the server. [MEM-4] */
export interface MemoryQueue {
  proposals(): Promise<MemoryProposal[]>
  dropProposals(ids: readonly MemoryId[]): Promise<void>
  changes(): Promise<QueuedChange[]>
  /** A change whose id is known is not kept again; one that the server refused for the same item goes. */
  addChange(change: QueuedChange): Promise<void>
  /** True if it was there. */
  dropChange(id: MemoryChangeId): Promise<boolean>
  refuseChange(id: MemoryChangeId, reason: string): Promise<void>
}

/** Which runs have been looked at, so that each is extracted once. */
export interface ExtractionBook {
  /** Notes that a run has ended; does nothing for one that is known. */
  note(run: RunId, session: SessionId): Promise<void>
  waiting(): Promise<RunToExtract[]>
  failed(): Promise<RunToExtract[]>
  /** Queues what was found, and that the run was looked at, in one transaction: neither is kept without the other. */
  finish(run: RunId, found: {proposals: readonly MemoryProposal[]} | {fault: string}): Promise<void>
}

export interface VectorShelf {
  read(embedder: string): Promise<Map<MemoryId, Float32Array>>
  /** Keeps a vector only while the replica still says these words. */
  save(embedder: string, texts: readonly {id: MemoryId; text: string; vector: Float32Array}[]): Promise<void>
}
