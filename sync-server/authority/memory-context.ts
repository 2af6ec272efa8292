import type {MemoryAct, MemoryItem, MemoryRecord} from '../../runtime/protocol/memory.ts'
import {acceptAmong} from '../../runtime/protocol/memory-fold.ts'
import type {MemoryPolicy} from '../memory-policy.ts'
import type {Owner} from '../principal.ts'
import type {LockedMemory} from '../storage/memory-store.ts'
import type {AuditEntry} from '../storage/store.ts'
import type {Authority} from './authority.ts'
import type {MemorySearch} from './memory-search.ts'

export type MemoryContext = Authority & {policy: MemoryPolicy; search: MemorySearch}

/**
 * Saves a memory item with an audit entry. The entry names the actor but never the text, because it outlives a
 * forgotten item.
 */
export async function record(memory: LockedMemory, owner: Owner, item: MemoryItem, {at, by}: MemoryAct): Promise<void> {
  const action = `memory.${item.status}` as const
  await memory.save(item, {...owner, action, about: item.id, reason: by.type, at} satisfies AuditEntry)
}

/**
 * Accepts an item and supersedes the `open` items that it displaces, in one transaction. Returns every changed item,
 * the accepted one last. [MEM-3]
 */
export async function enterForce(
  memory: LockedMemory,
  owner: Owner,
  {item, open, act}: {item: MemoryRecord; open: readonly MemoryRecord[]; act: MemoryAct},
): Promise<MemoryItem[]> {
  const changed = acceptAmong(open, item, act)
  for (const one of changed) await record(memory, owner, one, act)
  return changed
}

/** Notifies the subject's devices and queues new items for embedding. Must be called after the commit. */
export function memoryMoved({bus, search}: MemoryContext, {tenant, subject}: Owner): void {
  bus.publish({type: 'memory', tenant, subject})
  search.embedSoon({tenant, subject})
}
