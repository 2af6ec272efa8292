import type {MemoryId} from './ids.ts'
import {
  decideMemory,
  evolveMemory,
  isInForce,
  isRecord,
  type MemoryAct,
  type MemoryChange,
  type MemoryItem,
  type MemoryRecord,
} from './memory.ts'

/** What comes into force takes the place of the item of its key, and of the one that it names. [MEM-3] */
export function displaces(
  item: Pick<MemoryRecord, 'id' | 'key' | 'supersedes'>,
  other: MemoryItem,
): other is MemoryRecord {
  if (!isInForce(other) || other.id === item.id) return false
  return (item.key !== null && other.key === item.key) || other.id === item.supersedes
}

/** Every item that accepting one changes, as it then stands; the accepted one comes last. */
export function acceptAmong(items: readonly MemoryItem[], item: MemoryItem, act: MemoryAct): MemoryItem[] {
  if (!isRecord(item)) return []
  const {why: _, ...without} = act
  const displaced = items.filter(other => displaces(item, other))
  return [
    ...displaced.map(other => evolveMemory(other, {do: 'supersede', by: item.id}, without)),
    evolveMemory(item, {do: 'accept'}, act),
  ]
}

/**
 * The items as they will be once the server has taken these changes, as far as one can know before: the device acts on
 * it at once, and a change that cannot be made is left out. [MEM-4]
 */
export function foldChanges(
  items: readonly MemoryItem[],
  changes: readonly {item: MemoryId; change: MemoryChange}[],
  act: MemoryAct,
): MemoryItem[] {
  const folded = new Map(items.map(item => [item.id, item]))
  for (const {item: id, change} of changes) {
    const item = folded.get(id)
    const verdict = item && decideMemory(item, change)
    if (!item || !verdict || verdict.refusal || verdict.repeat) continue
    const after =
      change.do === 'accept' ? acceptAmong([...folded.values()], item, act) : [evolveMemory(item, change, act)]
    for (const one of after) folded.set(one.id, one)
  }
  return [...folded.values()]
}
