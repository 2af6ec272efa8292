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
 * Recall over one picture of the items, in this process; the picture never changes, so nothing that has been forgotten
 * since can be found in the next one. Vectors may be missing: those items are found by their words alone. [MEM-3]
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
    // An embedder that fails must not take full text with it.
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
