import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import type {StorageKind} from '../../protocol/recovery.ts'

export interface OpenedDatabase {
  db: PGlite
  storage: StorageKind
  /** True if this open created the database. */
  fresh: boolean
  /** `quarantined`: the old database could not be opened. It was moved to `setAside`, and a new one was created. */
  recovered?: 'quarantined'
  setAside?: string
  close(): Promise<void>
}

/**
 * Called at most once, when the database stopped because of a fault. It must be opened again. `rescued` are acknowledged
 * outbox records for that open, which the browser may have deleted from storage.
 */
export type Stopped = (error: HoldfastError, rescued?: readonly Uint8Array[]) => void

/** Runs `work` on a newly opened resource. Closes the resource if `work` fails. */
export async function orClose<T>(opened: {close(): Promise<void>}, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await opened.close()
    throw error
  }
}

export function damaged(what: string, cause?: unknown): HoldfastError {
  return new HoldfastError('database_damaged', `The database could not be opened whole: ${what}.`, {cause})
}
