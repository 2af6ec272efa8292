import type {PGlite} from '@electric-sql/pglite'
import type {RecoveryCause, StorageKind} from '../../protocol/recovery.ts'
import type {OutboxStorage} from '../outbox/outbox-storage.ts'

/** A database that a fresh one has taken the place of, and that may still be read. */
export interface Previous {
  cause: RecoveryCause
  /** What was found, in technical words. */
  detail: string
  /** The name under which its files are kept; null when there are none. */
  setAside: string | null
  /** A copy of it to read from; its files stay as they are. Rejects when Postgres does not start on them. */
  open(): Promise<PGlite>
  /** All that could be read of it is in the new one. */
  done(): Promise<void>
}

/** The opened database of a device, with what is kept beside it. */
export interface DeviceDatabase {
  db: PGlite
  storage: StorageKind
  /** Nothing was here before. */
  fresh: boolean
  /** Null where nothing outlives the database. */
  outbox: OutboxStorage | null
  previous: Previous | null
  close(): Promise<void>
}
