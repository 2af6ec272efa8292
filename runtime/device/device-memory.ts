import type {ViewMemory} from '../loop/view-memory.ts'
import {RecallIndex} from '../memory/recall-index.ts'
import {HoldfastError, parse} from '../protocol/errors.ts'
import {
  type MemoryChangeId,
  type MemoryId,
  memoryChangeIdSchema,
  memoryIdSchema,
  type SessionId,
  type SubjectId,
} from '../protocol/ids.ts'
import {
  decideMemory,
  isInForce,
  isRecord,
  longestUndoMs,
  type MemoryChange,
  type MemoryItem,
  memoryChangeSchema,
} from '../protocol/memory.ts'
import {foldChanges} from '../protocol/memory-fold.ts'
import {type RecallAsk, type RecalledMemory, recallAskSchema} from '../protocol/memory-recall.ts'
import type {MemoryView} from '../protocol/memory-view.ts'
import {localSubject} from '../protocol/person.ts'
import {refusalError} from '../protocol/refusal.ts'
import type {SessionLog} from '../storage/session-log.ts'
import {MemoryExtraction} from './memory-extraction.ts'
import {memoryForViews} from './memory-for-views.ts'
import type {DeviceMemoryParts} from './memory-parts.ts'
import {type MemoryPicture, pictureOf, viewOf} from './memory-picture.ts'
import {MemorySyncer} from './memory-syncer.ts'

/** So many texts go to the embedder at once: few, since on a device they cost its one thread. */
const embeddedAtOnce = 4

/**
 * Memory on a device: a copy of the server's items with this device's changes applied, and the queue of unsent changes.
 * The state in RAM is a projection of the store and is rebuilt after each write. [MEM-4]
 */
export class DeviceMemory {
  #picture: MemoryPicture = {items: [], changes: [], proposals: [], failed: []}
  #index = new RecallIndex([], new Map())
  #reading: Promise<void> = Promise.resolve()
  #embedding: Promise<void> | null = null
  #closed = false
  readonly #syncer: MemorySyncer
  readonly #extraction: MemoryExtraction
  /** What a step recalls: the same offline, from this device's copy. [MEM-4] */
  readonly forViews: ViewMemory = memoryForViews({recall: ask => this.recall(ask), items: () => this.#items()})

  constructor(private readonly parts: DeviceMemoryParts) {
    this.#syncer = new MemorySyncer(parts, () => this.#read())
    this.#extraction = new MemoryExtraction(parts, {
      known: () => this.#items().filter(isInForce),
      extracted: async () => {
        await this.#read()
        this.#syncer.soon()
      },
    })
  }

  async start(): Promise<void> {
    await this.#read()
  }

  /** The connection stands, or the server said that memory has changed. */
  reached(): void {
    this.#syncer.reached()
    this.#extraction.soon()
  }

  /** A session has moved: perhaps a run has ended, or the sources of a proposal have reached the server. */
  look(log: SessionLog): void {
    this.#extraction.look(log)
    if (this.#picture.proposals.length > 0) this.#syncer.soon()
  }

  view(): MemoryView {
    return viewOf(this.#picture, this.#items())
  }

  async recall({now, ...ask}: RecallAsk & {now: number}): Promise<RecalledMemory[]> {
    return await this.#index.recall({...parse(recallAskSchema, ask, 'recall'), now}, this.parts.embedder ?? null)
  }

  recallNow(ask: RecallAsk): Promise<RecalledMemory[]> {
    return this.recall({...ask, now: this.parts.environment.now()})
  }

  /** Resolves when the change is durable here; it counts for recall at once, and is sent after `undoMs`. */
  async change(id: MemoryChangeId, item: MemoryId, change: MemoryChange, undoMs: number): Promise<void> {
    parse(memoryChangeIdSchema, id, 'change')
    parse(memoryIdSchema, item, 'memory')
    const wanted = parse(memoryChangeSchema, change, 'change')
    if (this.#picture.changes.some(known => known.id === id)) return
    const current = this.#items().find(one => one.id === item)
    if (!current) throw new HoldfastError('not_found', 'No such memory.')
    const verdict = decideMemory(current, wanted)
    if (verdict.refusal) throw refusalError(verdict.refusal)
    if (verdict.repeat) return
    const notBefore = this.parts.environment.now() + Math.max(0, Math.min(undoMs, longestUndoMs))
    await this.parts.memory.queue.addChange({id, item, change: wanted, notBefore, refused: null})
    await this.#read()
    this.#syncer.soon()
  }

  /**
   * Drops what was proposed from sessions that are being erased and has not been sent, and takes over what the server has
   * forgotten with them; of a whole subject nothing stays. [RET-2, RET-3]
   */
  async purge(sessions: readonly SessionId[], whole: boolean): Promise<void> {
    const {queue, replica} = this.parts.memory
    const derived = (await queue.proposals()).filter(
      ({sources}) => whole || sources.some(({session}) => sessions.includes(session)),
    )
    await queue.dropProposals(derived.map(({id}) => id))
    if (whole) {
      for (const {id} of await queue.changes()) await queue.dropChange(id)
      await replica.startOver()
    }
    await this.#syncer.level()
    await this.#read()
  }

  /** True if the change had not been sent, and now never will be. */
  async undo(id: MemoryChangeId): Promise<boolean> {
    if (!this.#syncer.mayUndo(parse(memoryChangeIdSchema, id, 'change'))) return false
    const undone = await this.parts.memory.queue.dropChange(id)
    await this.#read()
    return undone
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#extraction.close()
    await this.#syncer.close()
    await this.#embedding
    await this.#reading
  }

  #items(): MemoryItem[] {
    const {items, changes, proposals} = this.#picture
    const subject = (this.parts.subject() ?? localSubject) as SubjectId
    const act = {at: this.parts.environment.now(), by: {type: 'person' as const, subject}}
    return foldChanges(
      [...items, ...proposals],
      changes.filter(({refused}) => refused === null),
      act,
    )
  }

  /** One reading after another: an earlier one must not overwrite what a later one found. */
  #read(): Promise<void> {
    this.#reading = this.#reading.catch(() => undefined).then(() => this.#readNow())
    return this.#reading
  }

  async #readNow(): Promise<void> {
    const {memory, embedder, environment, publisher} = this.parts
    this.#picture = await pictureOf(memory, environment.now())
    const vectors = embedder ? await memory.vectors.read(embedder.name) : new Map<MemoryId, Float32Array>()
    const items = this.#items()
    const stored = new Map(this.#picture.items.map(item => [item.id, item]))
    // The words may have been corrected here while the vector is of what the server still says.
    for (const item of items) if (!sameWords(item, stored.get(item.id))) vectors.delete(item.id)
    this.#index = new RecallIndex(items, vectors)
    publisher.publish('memory', this.view())
    if (this.#picture.items.some(item => isInForce(item) && !vectors.has(item.id))) this.#embedMissing()
  }

  #embedMissing(): void {
    const {embedder} = this.parts
    if (!embedder || this.#closed) return
    this.#embedding ??= this.#embed(embedder)
      // Full text still answers; the next change tries again.
      .catch(() => undefined)
      .finally(() => {
        this.#embedding = null
      })
  }

  async #embed(embedder: NonNullable<DeviceMemoryParts['embedder']>): Promise<void> {
    const {vectors} = this.parts.memory
    const have = await vectors.read(embedder.name)
    const missing = this.#picture.items.filter(isInForce).filter(({id}) => !have.has(id))
    for (let i = 0; i < missing.length && !this.#closed; i += embeddedAtOnce) {
      const batch = missing.slice(i, i + embeddedAtOnce)
      const made = await embedder.embed(batch.map(({text}) => text))
      await vectors.save(
        embedder.name,
        batch.flatMap(({id, text}, j) => (made[j] ? [{id, text, vector: made[j]}] : [])),
      )
    }
    if (missing.length > 0) void this.#read()
  }
}

function sameWords(a: MemoryItem, b: MemoryItem | undefined): boolean {
  return b !== undefined && isRecord(a) && isRecord(b) && a.text === b.text
}
