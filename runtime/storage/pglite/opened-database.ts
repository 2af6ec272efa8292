import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import type {StorageKind} from '../../protocol/recovery.ts'

export interface OpenedDatabase {
  db: PGlite
  storage: StorageKind
  /** Nothing was here before. */
  fresh: boolean
  /** 'quarantined': what was here could not be opened whole; it was set aside as `setAside` and a fresh one begun. */
  recovered?: 'quarantined'
  setAside?: string
  close(): Promise<void>
}

/**
 * Called at most once, when the database stopped by itself: it answers nothing more and has to be opened again. `rescued`
 * holds acknowledged outbox records for that opening, where the browser may have deleted them from storage.
 */
export type Stopped = (error: HoldfastError, rescued?: readonly Uint8Array[]) => void

/** Does `work` on what was just opened; should it fail, the files are let go of, for whoever opens them next. */
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
