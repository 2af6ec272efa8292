import type {StorageKind, StorageState} from '../protocol/recovery.ts'

/**
 * The worker that last had a database open, as known to a page or worker that is still alive. When a browser deletes the
 * data of a site, only their memory tells a deleted database from one that never existed. [LOG-9]
 */
export type LastOwner = {
  storage: StorageKind
  /** What it had acknowledged and kept in memory, handed on before it ended; null if it ended without. */
  rescued: unknown
}

export function lastOwnerOf(storage: StorageState | null | undefined): LastOwner | null {
  return storage ? {storage: storage.kind, rescued: null} : null
}
