import {isRecord, type MemoryItem, type MemoryRecord} from '../../runtime/protocol/memory.ts'

type Said = Pick<MemoryRecord, 'key' | 'text'>
type Sourced = Said & Pick<MemoryRecord, 'id' | 'sources'>

/**
 * Key for comparing items: the same key and the same words, ignoring case, whitespace, full stops and exclamation
 * marks.
 */
export function sayingOf({key, text}: Said): string {
  return `${key ?? ''}\n${plain(text)}`
}

/**
 * Returns the items that other devices derived from the same message before they received the first one. A person's
 * change to one of them applies to all. [MEM-5]
 */
export function twinsOf(item: MemoryItem, open: readonly MemoryRecord[]): MemoryRecord[] {
  if (!isRecord(item)) return []
  return open.filter(other => other.id !== item.id && isTwin(item, other))
}

function isTwin(item: Sourced, other: Sourced): boolean {
  if (!sharesSource(item, other)) return false
  return item.key === null ? sayingOf(item) === sayingOf(other) : item.key === other.key
}

function sharesSource(item: Sourced, other: Sourced): boolean {
  const events = new Set(item.sources.flatMap(source => source.events))
  return other.sources.some(source => source.events.some(event => events.has(event)))
}

function plain(text: string): string {
  return text
    .trim()
    .replace(/[\s.!]+/g, ' ')
    .trim()
    .toLowerCase()
}
