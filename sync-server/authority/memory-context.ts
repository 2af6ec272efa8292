import type {MemoryAct, MemoryItem, MemoryRecord} from '../../runtime/protocol/memory.ts'
import {acceptAmong} from '../../runtime/protocol/memory-fold.ts'
import type {MemoryPolicy} from '../memory-policy.ts'
import type {Owner} from '../principal.ts'
import type {LockedMemory} from '../storage/memory-store.ts'
import type {AuditEntry} from '../storage/store.ts'
import type {Authority} from './authority.ts'
import type {MemorySearch} from './memory-search.ts'

export type MemoryContext = Authority & {policy: MemoryPolicy; search: MemorySearch}

/** Saves what became of an item. The audit says who did it and never what the item said: it outlives a forgotten one. */
export async function record(memory: LockedMemory, owner: Owner, item: MemoryItem, {at, by}: MemoryAct): Promise<void> {
  const action = `memory.${item.status}` as const
  await memory.save(item, {...owner, action, about: item.id, reason: by.type, at} satisfies AuditEntry)
}

/**
 * Brings an item into force, and out of it what it displaces among the `open` items, in the one transaction. Returns
 * every item that changed, the accepted one last. [MEM-3]
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

/** Tells the subject's devices, and has what is new embedded; called after the commit. */
export function memoryMoved({bus, search}: MemoryContext, {tenant, subject}: Owner): void {
  bus.publish({type: 'memory', tenant, subject})
  search.embedSoon({tenant, subject})
}
