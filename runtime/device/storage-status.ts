import type {StorageState} from '../protocol/recovery.ts'
import type {DeviceStorage} from '../storage/recovery/open-device-store.ts'
import type {Publisher} from './runtime-service.ts'

export type StoragePart = Pick<DeviceStorage, 'kind' | 'recovery' | 'dismissRecovery'>

/** State of this device's storage, published to pages. [LOG-9, SYNC-5] */
export class StorageStatus {
  #state: StorageState

  constructor(
    private readonly part: StoragePart,
    private readonly publisher: Publisher,
  ) {
    this.#state = {kind: part.kind, persisted: null, recovery: part.recovery}
  }

  get state(): StorageState {
    return this.#state
  }

  async dismissRecovery(): Promise<void> {
    await this.part.dismissRecovery()
    this.#become({...this.#state, recovery: null})
  }

  /** Result of the page's request to keep this site's data. */
  setPersisted(persisted: boolean): void {
    if (persisted !== this.#state.persisted) this.#become({...this.#state, persisted})
  }

  #become(state: StorageState): void {
    this.#state = state
    this.publisher.publish('storage', state)
  }
}

/** Storage of a store that was opened without recovery. */
export const plainStorage: StoragePart = {kind: 'memory', recovery: null, dismissRecovery: async () => undefined}
