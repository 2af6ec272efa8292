import type {MemoryItem as ViewItem, ViewMemory} from '../loop/view-memory.ts'
import {isRecord, type MemoryItem, type MemoryRecord, textAt} from '../protocol/memory.ts'
import type {RecallAsk, RecalledMemory} from '../protocol/memory-recall.ts'

type Source = {
  recall(ask: RecallAsk & {now: number}): Promise<RecalledMemory[]>
  items(): readonly MemoryItem[]
}

/** Memory as a prepared view takes it: the words, and where each comes from; what is stale or forgotten never. [MEM-3] */
export function memoryForViews({recall, items}: Source): ViewMemory {
  return {
    recall: async ({query, limit, now}) => {
      if (query.trim() === '') return []
      const found = await recall({query, limit: Math.max(1, Math.min(50, limit)), now})
      return found.map(({item}) => viewItem(item, item.text, item.revision))
    },
    byIds: async refs => {
      const known = new Map<string, MemoryItem>(items().map(item => [item.id, item]))
      return refs.flatMap(({id, revision}) => {
        const item = known.get(id)
        const text = item && isRecord(item) ? textAt(item, revision) : null
        return item && isRecord(item) && text !== null ? [viewItem(item, text, revision)] : []
      })
    },
  }
}

function viewItem({id, sources}: MemoryRecord, text: string, revision: number): ViewItem {
  return {id, revision, text, source: sources.map(({session}) => session).join(', ')}
}
