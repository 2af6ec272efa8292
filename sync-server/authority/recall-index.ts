import MiniSearch from 'minisearch'
import type {MemoryId} from '../../runtime/protocol/ids.ts'
import {isInForce, type MemoryItem, type MemoryRecord} from '../../runtime/protocol/memory.ts'
import {fullTextOptions, searchOptionsOf} from '../../runtime/protocol/memory-recall.ts'
import type {Owner} from '../principal.ts'
import type {EmbeddedMemory} from '../storage/memory-store.ts'
import type {Authority} from './authority.ts'

/**
 * Maximum number of cached indexes, least recently used dropped first. An index of 2,000 items takes a few megabytes.
 */
const keptSubjects = 50
const pageItems = 500

/** Search index of one subject's items in force. */
export type RecallIndex = {
  items(): MemoryRecord[]
  vectors(): [MemoryId, Float32Array][]
  search(query: string): Map<MemoryId, number>
}

export type RecallIndexes = {
  /** Returns the current index. Built on the first query, then updated incrementally. */
  of(owner: Owner): Promise<RecallIndex>
  close(): void
}

type Kept = {
  index: MiniSearch<MemoryRecord>
  found: Map<MemoryId, EmbeddedMemory>
  /** Cursor of the last change that the index contains. */
  cursor: number
}

/**
 * Caches the search indexes of the subjects that queried last. Building an index takes a second for 2,000 items; an
 * update costs only the changed items. A forgotten item leaves the index when this process receives the poke, and in
 * any case before the next answer. [MEM-3]
 */
export function recallIndexes({store, bus}: Pick<Authority, 'store' | 'bus'>, embedder: string): RecallIndexes {
  const kept = new Map<string, Promise<Kept>>()
  const keyOf = ({tenant, subject}: Owner) => JSON.stringify([tenant, subject])

  async function build(owner: Owner): Promise<Kept> {
    // Read the head first: items that change during the read are read again by the next update.
    const {head} = await store.memory.changes(owner, Number.MAX_SAFE_INTEGER, 1)
    const all = await store.memory.inForce(owner, embedder)
    const index = new MiniSearch<MemoryRecord>(fullTextOptions)
    index.addAll(all.map(({item}) => item))
    return {index, found: new Map(all.map(one => [one.item.id, one])), cursor: head}
  }

  async function update(owner: Owner, one: Kept): Promise<Kept> {
    for (;;) {
      const {changes, head} = await store.memory.changes(owner, one.cursor, pageItems)
      // The database was restored from an older copy: rebuild.
      if (head < one.cursor) return await build(owner)
      for (const {item} of changes) apply(one, item)
      one.cursor = changes.at(-1)?.cursor ?? one.cursor
      if (changes.length < pageItems) break
    }
    await fetchVectors(owner, one)
    return one
  }

  async function fetchVectors(owner: Owner, {found}: Kept): Promise<void> {
    if (embedder === '') return
    const missing = [...found.values()].flatMap(({item, vector}) => (vector === null ? [item.id] : []))
    for (const one of await store.memory.inForce(owner, embedder, missing)) {
      if (one.item.revision === found.get(one.item.id)?.item.revision) found.set(one.item.id, one)
    }
  }

  /** Serialises the updates of a subject. An error drops the index, so that the next query rebuilds it. */
  function current(owner: Owner): Promise<Kept> {
    const key = keyOf(owner)
    const before = kept.get(key)
    const now = (before ? before.then(one => update(owner, one)) : build(owner)).catch(error => {
      if (kept.get(key) === now) kept.delete(key)
      throw error
    })
    kept.delete(key)
    kept.set(key, now)
    for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - keptSubjects))) kept.delete(oldest)
    return now
  }

  const unsubscribe = bus.subscribe(poke => {
    if (poke.type === 'missed') kept.clear()
    if (poke.type === 'erased') kept.delete(keyOf(poke))
    if (poke.type === 'memory' && kept.has(keyOf(poke))) current(poke).catch(() => undefined)
  })

  return {
    of: async owner => {
      const {index, found} = await current(owner)
      return {
        items: () => [...found.values()].map(({item}) => item),
        vectors: () => [...found.values()].flatMap(({item, vector}) => (vector ? [[item.id, vector]] : [])),
        search: query =>
          new Map(index.search(query, searchOptionsOf(query)).map(({id, score}) => [id as MemoryId, score])),
      }
    },
    close: () => {
      unsubscribe()
      kept.clear()
    },
  }
}

function apply({index, found}: Kept, item: MemoryItem): void {
  const before = found.get(item.id)
  if (before) index.remove(before.item)
  found.delete(item.id)
  if (!isInForce(item)) return
  index.add(item)
  found.set(item.id, {item, vector: before?.item.text === item.text ? before.vector : null})
}
