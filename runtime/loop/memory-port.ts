import type {RecallAsk, RecalledMemory} from '../protocol/memory-recall.ts'

/**
 * Memory as a loop reads it: only what is valid at `now`, best first, each with the events it came from; the same
 * answer offline, from this device's replica. It reads no session, and no session's state is in it. [MEM-1, MEM-3, MEM-4]
 */
export interface MemoryReader {
  /**
   * At most `limit` items (5 unless told) for a question, a key, or both; none when neither matches.
   *
   * @example
   * const found = await reader.recall({query: 'How should I pay the money back?', now: environment.now()})
   * for (const {item} of found) console.log(item.text, item.sources)
   */
  recall(ask: RecallAsk & {now: number}): Promise<RecalledMemory[]>
}
