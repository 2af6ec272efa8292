import type {DeviceStore} from '../storage/device-store.ts'
import type {DeviceOwner} from './device-owner.ts'
import type {Publisher} from './runtime-service.ts'

/** The owner of the database and the number of unsent entries. The tenant is null until a server names it. */
export type PersonState = {tenant: string | null; subject: string; unsent: number}

/** Milliseconds in which changes are collected before unsent entries are counted again. */
const countPaceMs = 50

/** Publishes the owner and the number of unsent events. [ID-6] */
export class PersonStatus {
  #closed = false
  #told = ''
  #publishing: Promise<void> | null = null

  constructor(
    private readonly owner: DeviceOwner,
    private readonly store: Pick<DeviceStore, 'unsent'>,
    private readonly publisher: Publisher,
  ) {}

  async read(): Promise<PersonState | null> {
    const owner = this.owner.get()
    return owner && {...owner, unsent: await this.store.unsent()}
  }

  changed(paceMs = countPaceMs): void {
    this.#publishing ??= this.#publish(paceMs).finally(() => {
      this.#publishing = null
    })
  }

  /** Resolves when no read of the store is running. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#publishing
  }

  async #publish(paceMs: number): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, paceMs))
    if (this.#closed) return
    // On failure, the next change counts again.
    const state = await this.read().catch(() => undefined)
    if (state === undefined || this.#closed || this.#told === JSON.stringify(state)) return
    this.#told = JSON.stringify(state)
    this.publisher.publish('person', state)
  }
}
