import type {SessionListItem} from '../protocol/session-view.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import {erasedItem, listItem} from './build-view.ts'
import type {Publisher} from './runtime-service.ts'

/** Milliseconds in which changes are batched before the list is built again. */
const listPaceMs = 30

/** Builds the list of this device's sessions from the store and publishes it. */
export class SessionListing {
  #closed = false
  #publishing: Promise<void> | null = null

  constructor(
    private readonly store: Pick<DeviceStore, 'sessions' | 'pending' | 'allErased'>,
    private readonly publisher: Publisher,
  ) {}

  async list(): Promise<SessionListItem[]> {
    const records = await this.store.sessions()
    const listed = await Promise.all(
      records
        .filter(record => record.current.session)
        .map(async record => listItem(record, (await this.store.pending(record.id, 1)).length)),
    )
    return [...listed, ...(await this.store.allErased()).map(erasedItem)]
  }

  /** Many changes in a burst become one new list. */
  changed(): void {
    this.#publishing ??= this.#publish().finally(() => {
      this.#publishing = null
    })
  }

  /** Resolves when nothing reads the store for it any more. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#publishing
  }

  async #publish(): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, listPaceMs))
    if (this.#closed) return
    await this.list().then(
      list => this.publisher.publish('sessions', list),
      // The next change lists again.
      () => undefined,
    )
  }
}
