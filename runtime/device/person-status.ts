import type {DeviceStore} from '../storage/device-store.ts'
import type {DeviceOwner} from './device-owner.ts'
import type {Publisher} from './runtime-service.ts'

/** Whose database this is, and how much of theirs the server does not have. The tenant is null until a server named it. */
export type PersonState = {tenant: string | null; subject: string; unsent: number}

/** Milliseconds that changes are gathered before what is unsent is counted again. */
const countPaceMs = 50

/** Tells pages who the owner is and how many of their events are unsent. [ID-6] */
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

  /** Resolves when nothing reads the store for it any more. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#publishing
  }

  async #publish(paceMs: number): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, paceMs))
    if (this.#closed) return
    // The next change counts again.
    const state = await this.read().catch(() => undefined)
    if (state === undefined || this.#closed || this.#told === JSON.stringify(state)) return
    this.#told = JSON.stringify(state)
    this.publisher.publish('person', state)
  }
}
