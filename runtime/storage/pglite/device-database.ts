import type {PGlite} from '@electric-sql/pglite'
import type {RecoveryCause, StorageKind} from '../../protocol/recovery.ts'
import type {OutboxStorage} from '../outbox/outbox-storage.ts'

/** A database that was replaced by a new one, and whose data may still be readable. */
export interface Previous {
  cause: RecoveryCause
  /** What was found, in technical words. */
  detail: string
  /** The name under which its files are kept; null when there are none. */
  setAside: string | null
  /** Opens it for reading. Its files are not modified. Rejects if Postgres does not start on them. */
  open(): Promise<PGlite>
  /** Records that its readable data is in the new database, so that it is not salvaged again. */
  done(): Promise<void>
}

/** The open database of a device, its outbox and the database that it replaced. */
export interface DeviceDatabase {
  db: PGlite
  storage: StorageKind
  /** True if this open created the database. */
  fresh: boolean
  /** Null if the storage is not durable. */
  outbox: OutboxStorage | null
  previous: Previous | null
  close(): Promise<void>
}
