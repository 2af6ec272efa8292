import type {PGlite} from '@electric-sql/pglite'

export interface OpenedDatabase {
  db: PGlite
  /** Nothing was here before. */
  fresh: boolean
  /** 'quarantined': what was here could not be opened whole; it was set aside as `setAside` and a fresh one begun. */
  recovered?: 'quarantined'
  setAside?: string
  close(): Promise<void>
}
