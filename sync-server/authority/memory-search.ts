import type {Embedder} from '../../runtime/protocol/embedder.ts'
import {
  type Ranking,
  type RecallAsk,
  type RecalledMemory,
  rankByMeaning,
  recallFrom,
} from '../../runtime/protocol/memory-recall.ts'
import type {Owner} from '../principal.ts'
import type {Authority} from './authority.ts'
import {withDeadline} from './deadline.ts'
import {type RecallIndex, recallIndexes} from './recall-index.ts'
import {workQueue} from './work-queue.ts'

export type MemorySearch = {
  /** Returns the valid items, best match first, by full text and, where vectors exist, by meaning. [MEM-3] */
  recall(owner: Owner, ask: RecallAsk): Promise<RecalledMemory[]>
  /** Computes missing vectors in the background. */
  embedSoon(owner: Owner): void
  idle(): Promise<void>
  close(): Promise<void>
}

const embedDeadlineMs = 60_000
/** Maximum number of texts per call of the embedder. */
const embedBatch = 16

/**
 * Recall over the items of one subject, in this process, with a cached index that is updated before each answer.
 * Devices use the same full-text search, so that a query has the same result online and offline. Full-text search in
 * Postgres would store a second copy of the text, which erasure would have to cover.
 */
export function memorySearch(
  authority: Pick<Authority, 'store' | 'bus' | 'environment' | 'onFault'>,
  embedder: Embedder | null,
): MemorySearch {
  const {store, environment, onFault} = authority
  const queue = workQueue(1)
  const indexes = recallIndexes(authority, embedder?.name ?? '')
  return {
    recall: async (owner, ask) => {
      const index = await indexes.of(owner)
      const rankings = ask.query ? await rank(ask.query, index) : []
      return recallFrom(index.items(), {...ask, now: environment.now()}, rankings)
    },
    embedSoon: owner => {
      if (embedder) queue.add(`${owner.tenant} ${owner.subject}`, () => embedMissing(owner, embedder).catch(onFault))
    },
    idle: queue.idle,
    close: async () => {
      indexes.close()
      await queue.close()
    },
  }

  async function rank(query: string, index: RecallIndex): Promise<Ranking[]> {
    const rankings: Ranking[] = [{by: 'text', scores: index.search(query)}]
    const vectors = index.vectors()
    if (!embedder || vectors.length === 0) return rankings
    try {
      const [asked] = await withDeadline('The embedder', embedDeadlineMs, () => embedder.embed([query]))
      if (asked) rankings.push(rankByMeaning(asked, vectors))
    } catch (error) {
      // Fall back to full text.
      onFault(error)
    }
    return rankings
  }

  async function embedMissing(owner: Owner, {name, embed}: Embedder): Promise<void> {
    const missing = (await store.memory.inForce(owner, name)).filter(({vector}) => vector === null)
    for (let i = 0; i < missing.length; i += embedBatch) {
      const batch = missing.slice(i, i + embedBatch).map(({item}) => item)
      const vectors = await withDeadline('The embedder', embedDeadlineMs, () => embed(batch.map(({text}) => text)))
      await store.memory.locked(owner, async memory => {
        const now = await memory.byIds(batch.map(({id}) => id))
        for (const [index, item] of batch.entries()) {
          const [current, vector] = [now.get(item.id), vectors[index]]
          // Skip an item that was forgotten or corrected meanwhile: the vector belongs to the old text.
          if (vector && current && 'text' in current && current.text === item.text) {
            await memory.saveVector(item.id, name, vector)
          }
        }
      })
    }
  }
}
