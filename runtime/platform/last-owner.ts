import type {StorageKind, StorageState} from '../protocol/recovery.ts'

/**
 * The last worker that had the database open, as remembered by a running page or worker. After a browser deletes the
 * data of a site, only this record distinguishes a deleted database from one that never existed. [LOG-9]
 */
export type LastOwner = {
  storage: StorageKind
  /** Acknowledged writes that it still held in memory and handed over; null when there was no hand-over. */
  rescued: unknown
}

export function lastOwnerOf(storage: StorageState | null | undefined): LastOwner | null {
  return storage ? {storage: storage.kind, rescued: null} : null
}
