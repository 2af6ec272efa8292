import {parse} from '../protocol/errors.ts'
import type {MemoryId} from '../protocol/ids.ts'
import {memoryIdSchema} from '../protocol/ids.ts'
import type {MemoryChange, MemoryRecord} from '../protocol/memory.ts'
import {type RecallAsk, type RecalledMemory, recallAskSchema} from '../protocol/memory-recall.ts'
import type {MemoryView} from '../protocol/memory-view.ts'
import {latest} from './latest.ts'
import {listenerOf} from './listener-argument.ts'
import {correctedText, forgetOptions, shownMemory} from './memory-arguments.ts'
import type {PageParts} from './page-parts.ts'

/**
 * What is remembered of one subject, as this device knows it, online or not. A change resolves when it is durable here,
 * counts here at once, and is sent as soon as the server can be reached. [MEM-3, MEM-4]
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
  /** @throws HoldfastError `refused` unless it waits for a decision, `not_found`, `bad_input` */
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
   * Forgets an item or a proposal. It is gone from every recall here at once. It is sent after `undoMs` (milliseconds,
   * at most 60,000; default: 0). Until it is sent, `undo` takes it back and returns true.
   *
   * @throws HoldfastError `bad_input` naming the argument; then nothing is forgotten
   * @example
   * const forgotten = await runtime.memory.forget(item.id, {undoMs: 6000})
   * await forgotten.undo()
   */
  forget(id: string, options?: {undoMs?: number}): Promise<{undo(): Promise<boolean>}>
  /** Calls `listener` with the view now and after every change. Returns an unsubscribe function. */
  subscribe(listener: (view: MemoryView) => void): () => void
}

export function createMemory(parts: PageParts): Memory {
  const {service, environment} = parts
  const change = async (id: MemoryId, wanted: MemoryChange, undoMs = 0) => {
    const own = environment.id('memoryChange')
    await service.changeMemory(own, id, wanted, undoMs)
    return own
  }
  return {
    list: () => service.memory(),
    recall: async ask => service.recallMemory(parse(recallAskSchema, ask, 'memory.recall') as RecallAsk),
    accept: async id => {
      await change(parse(memoryIdSchema, id, 'memory.accept.id'), {do: 'accept'})
    },
    correct: async (shown, text) => {
      const {id, revision} = parse(shownMemory, shown, 'memory.correct.shown')
      const corrected = parse(correctedText, text, 'memory.correct.text')
      await change(id, {do: 'correct', text: corrected, revision})
    },
    forget: async (id, options) => {
      const item = parse(memoryIdSchema, id, 'memory.forget.id')
      const {undoMs} = parse(forgetOptions, options, 'memory.forget')
      const own = await change(item, {do: 'forget'}, undoMs)
      return {undo: () => service.undoMemory(own)}
    },
    subscribe: listener => latest(parts, 'memory', () => service.memory(), listenerOf(listener, 'memory.subscribe')),
  }
}
