import {isRecord, type MemoryItem, type MemoryRecord, proposedMemory} from '../protocol/memory.ts'
import type {MemoryView} from '../protocol/memory-view.ts'
import type {DeviceMemoryStore, QueuedChange, RunToExtract} from '../storage/memory-store.ts'

/** The store's rows as they were at one moment. */
export type MemoryPicture = {
  items: MemoryItem[]
  changes: QueuedChange[]
  /** Queued on this device only. */
  proposals: MemoryRecord[]
  failed: RunToExtract[]
}

export async function pictureOf({replica, queue, runs}: DeviceMemoryStore, now: number): Promise<MemoryPicture> {
  const {items} = await replica.read()
  const known = new Set(items.map(({id}) => id))
  const queued = (await queue.proposals()).filter(({id}) => !known.has(id))
  return {
    items,
    changes: await queue.changes(),
    proposals: queued.map(proposal => proposedMemory(proposal, now)),
    failed: await runs.failed(),
  }
}

/** What a page shows of the picture once this device's own changes are on top. */
export function viewOf({changes, proposals, failed}: MemoryPicture, items: readonly MemoryItem[]): MemoryView {
  const open = changes.filter(({refused}) => refused === null)
  const moved = new Set([...open.map(({item}) => item), ...proposals.map(({id}) => id)])
  const entries = items.filter(isRecord).map(item => ({
    item,
    kept: moved.has(item.id) ? ('device' as const) : ('server' as const),
    refused: changes.findLast(change => change.item === item.id)?.refused ?? null,
  }))
  entries.sort((a, b) => b.item.updatedAt - a.item.updatedAt || (a.item.id < b.item.id ? 1 : -1))
  return {
    entries,
    queued: open.length + proposals.length,
    unread: failed.map(({run, session, fault}) => ({run, session, reason: fault ?? ''})),
  }
}
