import {isInForce, type MemoryItem, type MemoryRecord} from '../../runtime/protocol/memory.ts'
import {sayingOf} from './same-memory.ts'

/** A subject's items that are in force or await a decision. Updated as a batch of proposals is applied. */
export type OpenMemory = {
  readonly size: number
  items(): MemoryRecord[]
  /** True if an item with the same key has the same text. */
  says(proposal: Pick<MemoryRecord, 'key' | 'text'>): boolean
  /** Stores the new state of an item. Removes an item that is no longer open. */
  set(item: MemoryItem): void
}

export function openMemory(open: readonly MemoryRecord[]): OpenMemory {
  const items = new Map(open.map(item => [item.id, item]))
  const sayings = new Map<string, number>()
  const count = (item: MemoryRecord, by: 1 | -1) => {
    const saying = sayingOf(item)
    sayings.set(saying, (sayings.get(saying) ?? 0) + by)
  }
  for (const item of open) count(item, 1)
  return {
    get size() {
      return items.size
    },
    items: () => [...items.values()],
    says: proposal => (sayings.get(sayingOf(proposal)) ?? 0) > 0,
    set(item) {
      const before = items.get(item.id)
      if (before) count(before, -1)
      items.delete(item.id)
      if (item.status !== 'proposed' && !isInForce(item)) return
      items.set(item.id, item)
      count(item, 1)
    },
  }
}
