import MiniSearch from 'minisearch'
import type {Embedder} from '../protocol/embedder.ts'
import type {MemoryId} from '../protocol/ids.ts'
import {isInForce, type MemoryItem, type MemoryRecord} from '../protocol/memory.ts'
import {
  fullTextOptions,
  type Ranking,
  type RecallAsk,
  type RecalledMemory,
  rankByMeaning,
  recallFrom,
  searchOptionsOf,
} from '../protocol/memory-recall.ts'

/**
 * Recall over an immutable snapshot of the items, in this process. After a change a new index is built, so forgotten items
 * cannot be found in it. Items without a vector are found by full text only. [MEM-3]
 */
export class RecallIndex {
  readonly #inForce: MemoryRecord[]
  #words: MiniSearch<MemoryRecord> | null = null

  constructor(
    items: readonly MemoryItem[],
    private readonly vectors: ReadonlyMap<MemoryId, Float32Array>,
  ) {
    this.#inForce = items.filter(isInForce)
  }

  async recall(ask: RecallAsk & {now: number}, embedder: Embedder | null): Promise<RecalledMemory[]> {
    return recallFrom(this.#inForce, ask, ask.query ? await this.#rank(ask.query, embedder) : [])
  }

  async #rank(query: string, embedder: Embedder | null): Promise<Ranking[]> {
    const found = this.#search(query)
    const byText: Ranking = {by: 'text', scores: new Map(found.map(({id, score}) => [id as MemoryId, score]))}
    if (!embedder || this.vectors.size === 0) return [byText]
    // If the embedder fails, recall still uses full text.
    const [asked] = await embedder.embed([query]).catch(() => [])
    return asked ? [byText, rankByMeaning(asked, this.vectors)] : [byText]
  }

  #search(query: string) {
    if (!this.#words) {
      this.#words = new MiniSearch<MemoryRecord>(fullTextOptions)
      this.#words.addAll(this.#inForce)
    }
    return this.#words.search(query, searchOptionsOf(query))
  }
}
