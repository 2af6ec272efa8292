import type {MemoryRecord} from './memory.ts'

/** What a page shows of memory; a new immutable value on every change. */
export type MemoryView = {
  /** Latest change first; what is forgotten is not among them. */
  entries: MemoryEntry[]
  /** Proposals and changes that the server does not have yet. */
  queued: number
  /** Runs that nothing could be extracted from, and why. */
  unread: {session: string; run: string; reason: string}[]
}

export type MemoryEntry = {
  item: MemoryRecord
  /** `device`: the server has not heard of it as it stands here. [SYNC-5] */
  kept: 'device' | 'server'
  /** Why the server did not take the last change to it, until another is made. */
  refused: string | null
}
