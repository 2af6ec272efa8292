import type {MemoryRef} from '../protocol/manifest.ts'

/** One remembered thing, as it was valid when it was recalled, and where it comes from. [MEM-3] */
export type MemoryItem = MemoryRef & {text: string; source: string}

/** What the loop needs of memory: reading only, in whatever store it lives. [MEM-1] */
export interface ViewMemory {
  /** The items that are valid now and most relevant, best first; works offline. [MEM-4] */
  recall(query: {query: string; limit: number; now: number}): Promise<MemoryItem[]>
  /** Exactly these revisions, in this order; those that were forgotten or erased are left out. */
  byIds(refs: readonly MemoryRef[]): Promise<MemoryItem[]>
}
