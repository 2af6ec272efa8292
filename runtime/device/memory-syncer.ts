import {HoldfastError} from '../protocol/errors.ts'
import type {MemoryChangeId} from '../protocol/ids.ts'
import type {MemoryProposal} from '../protocol/memory.ts'
import {retryPauseMs} from '../sync/back-off.ts'
import {type MemoryLink, syncMemory} from '../sync/memory-sync.ts'
import type {DeviceMemoryParts} from './memory-parts.ts'

/**
 * Runs sync rounds one at a time while there is something to sync. A failed round is retried with back-off, or as soon
 * as the server is reached. [SYNC-6]
 */
export class MemorySyncer {
  #running: Promise<void> | null = null
  #again = false
  #closed = false
  #failures = 0
  /** A round has failed and its pause is not over yet. */
  #pausing = false
  #alarm: ReturnType<typeof setTimeout> | undefined
  #sending: ReadonlySet<MemoryChangeId> = new Set()

  constructor(
    private readonly parts: DeviceMemoryParts,
    private readonly moved: () => Promise<void>,
  ) {}

  /** The server can be reached again, or reported a change. */
  reached(): void {
    this.#pausing = false
    this.soon()
  }

  soon(): void {
    const {link} = this.parts
    if (!link || this.#closed || this.#pausing) return
    this.#again = true
    this.#running ??= this.#rounds(link).finally(() => {
      this.#running = null
    })
  }

  /** Resolves after a round that began now or later, or when there can be none. */
  async level(): Promise<void> {
    this.soon()
    await this.#running
  }

  /** False once a change may be on its way. */
  mayUndo(id: MemoryChangeId): boolean {
    return !this.#sending.has(id)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#alarm)
    await this.#running
  }

  async #rounds(link: MemoryLink): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false
      await this.#round(link)
    }
  }

  async #round(link: MemoryLink): Promise<void> {
    const {memory, environment} = this.parts
    clearTimeout(this.#alarm)
    try {
      // What may be sent is settled here, before the first of it is: an undo in between must not be too late unseen.
      const now = environment.now()
      this.#sending = new Set(
        (await memory.queue.changes()).filter(({notBefore}) => notBefore <= now).map(({id}) => id),
      )
      await syncMemory({link, store: memory, now: () => now, sourcesOf: proposal => this.#sourcesOf(proposal)})
      this.#failures = 0
    } catch (error) {
      this.#tryLater(HoldfastError.from(error, 'offline'))
    }
    this.#sending = new Set()
    await this.moved().catch(() => undefined)
    await this.#wakeForUndo().catch(() => undefined)
  }

  #tryLater(error: HoldfastError): void {
    if (this.#closed) return
    this.#failures += 1
    this.#pausing = true
    this.#arm(retryPauseMs(error, this.#failures, this.parts.environment.random()))
  }

  /** A change that may still be undone is sent when that time is over. */
  async #wakeForUndo(): Promise<void> {
    if (this.#failures > 0 || this.#closed) return
    const now = this.parts.environment.now()
    const waits = (await this.parts.memory.queue.changes()).flatMap(({notBefore, refused}) =>
      refused === null && notBefore > now ? [notBefore - now] : [],
    )
    if (waits.length > 0) this.#arm(Math.min(...waits) + 1)
  }

  #arm(ms: number): void {
    clearTimeout(this.#alarm)
    this.#alarm = setTimeout(() => this.reached(), ms)
  }

  async #sourcesOf({sources}: MemoryProposal): Promise<'confirmed' | 'pending' | 'gone'> {
    const {store} = this.parts
    const ids = sources.flatMap(({events}) => events)
    const found = await store.byIds(ids)
    if (found.length < new Set(ids).size) return 'gone'
    if (found.every(({seq}) => seq !== null)) return 'confirmed'
    for (const {session} of sources) {
      const refused = await store.rejected(session)
      if (refused.some(({event}) => ids.includes(event.id))) return 'gone'
    }
    return 'pending'
  }
}
