import {HoldfastError} from '../protocol/errors.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {DeviceMemoryStore} from '../storage/memory-store.ts'

/**
 * Milliseconds after which writes are allowed again if the wipe did not follow, for example because its page is gone.
 */
const longestMs = 60_000

/** Lets writes pass until it is closed, so that no entry is added after unsent entries were counted. [ID-6] */
export class WriteGate {
  readonly #underWay = new Set<Promise<unknown>>()
  #closedUntil = Number.NEGATIVE_INFINITY

  constructor(private readonly elapsed: () => number) {}

  /** Closes the gate. Resolves when all running writes have ended. */
  async close(): Promise<void> {
    this.#closedUntil = this.elapsed() + longestMs
    await Promise.allSettled(this.#underWay)
  }

  open(): void {
    this.#closedUntil = Number.NEGATIVE_INFINITY
  }

  store(store: DeviceStore): DeviceStore {
    return {...store, transaction: work => this.#through(() => store.transaction(work))}
  }

  memory(memory: DeviceMemoryStore): DeviceMemoryStore {
    return {
      ...memory,
      queue: {...memory.queue, addChange: change => this.#through(() => memory.queue.addChange(change))},
      runs: {...memory.runs, finish: (run, found) => this.#through(() => memory.runs.finish(run, found))},
    }
  }

  async #through<T>(write: () => Promise<T>): Promise<T> {
    if (this.elapsed() < this.#closedUntil) {
      throw new HoldfastError('unauthenticated', 'The data of this person is being deleted from this device.')
    }
    const writing = write()
    this.#underWay.add(writing)
    try {
      return await writing
    } finally {
      this.#underWay.delete(writing)
    }
  }
}

/**
 * Closes the gate and counts unsent entries. If more than `most` would be lost, opens the gate again and throws.
 * Counting and closing are one step, because an entry acknowledged in between would be deleted without being counted.
 * [ID-6]
 *
 * @throws HoldfastError `refused` with `details.unsent`
 */
export async function closeForWipe(
  gate: WriteGate,
  store: Pick<DeviceStore, 'unsent'>,
  most: number | null,
): Promise<number> {
  await gate.close()
  try {
    const unsent = await store.unsent()
    if (most === null || unsent <= most) return unsent
    const entries = `${unsent} ${unsent === 1 ? 'entry has' : 'entries have'}`
    const message = `${entries} not been sent to the server and would be lost.`
    throw new HoldfastError('refused', message, {details: {unsent, most}})
  } catch (error) {
    gate.open()
    throw error
  }
}
