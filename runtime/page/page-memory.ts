import {parse} from '../protocol/errors.ts'
import type {MemoryId} from '../protocol/ids.ts'
import {memoryIdSchema} from '../protocol/ids.ts'
import type {MemoryChange, MemoryRecord} from '../protocol/memory.ts'
import type {RecallAsk, RecalledMemory} from '../protocol/memory-recall.ts'
import type {MemoryView} from '../protocol/memory-view.ts'
import {latest} from './latest.ts'
import type {PageParts} from './page-parts.ts'

/**
 * What is remembered of one subject, as this device knows it, online or not. Each change resolves when it is durable here
 * and counts here at once; the server hears of it as soon as it can be reached. [MEM-3, MEM-4]
 */
export interface Memory {
  list(): Promise<MemoryView>
  /**
   * Only what is valid now, best first, each with the events it came from.
   *
   * @throws HoldfastError `bad_input` naming the field
   * @example
   * for (const {item} of await runtime.memory.recall({query: 'How do I like my refunds?'})) console.log(item.text)
   */
  recall(ask: RecallAsk): Promise<RecalledMemory[]>
  /** @throws HoldfastError `refused` unless it waits for a decision, `not_found` */
  accept(id: string): Promise<void>
  /**
   * Replaces the words of an item as it was shown.
   *
   * @throws HoldfastError `conflict` when it has changed since, `refused` unless it is in force, `bad_input`
   * @example
   * await runtime.memory.correct(item, 'Shoe size 42.')
   */
  correct(shown: Pick<MemoryRecord, 'id' | 'revision'>, text: string): Promise<void>
  /**
   * Forgets an item, or a proposal. It is gone from every recall here at once; with `undoMs` (milliseconds, at most
   * 60,000) it is sent only then, and `undo` takes it back until it is sent: true if it was in time.
   *
   * @example
   * const forgotten = await runtime.memory.forget(item.id, {undoMs: 6000})
   * await forgotten.undo()
   */
  forget(id: string, options?: {undoMs?: number}): Promise<{undo(): Promise<boolean>}>
  /** Told the view now and on every change; returns how to stop. */
  subscribe(listener: (view: MemoryView) => void): () => void
}

export function createMemory(parts: PageParts): Memory {
  const {service, environment} = parts
  const change = async (id: MemoryId, wanted: MemoryChange, undoMs = 0) => {
    const own = environment.id('memoryChange')
    await service.changeMemory(own, id, wanted, undoMs)
    return own
  }
  const idOf = (id: string) => parse(memoryIdSchema, id, 'memory')
  return {
    list: () => service.memory(),
    recall: ask => service.recallMemory(ask),
    accept: async id => {
      await change(idOf(id), {do: 'accept'})
    },
    correct: async ({id, revision}, text) => {
      await change(idOf(id), {do: 'correct', text, revision})
    },
    forget: async (id, {undoMs} = {}) => {
      const own = await change(idOf(id), {do: 'forget'}, undoMs)
      return {undo: () => service.undoMemory(own)}
    },
    subscribe: listener => latest(parts, 'memory', () => service.memory(), listener),
  }
}
