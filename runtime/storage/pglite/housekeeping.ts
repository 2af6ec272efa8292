import type {PGlite} from '@electric-sql/pglite'

/**
 * Postgres has no background processes here: nobody checkpoints, so that the write-ahead log grows for ever, and nobody
 * vacuums, so that every changed row stays beside its successor.
 */
export interface Housekeeping {
  /** A transaction was committed. */
  wrote(): void
}

/** Bytes of write-ahead log that are kept at most while the device writes, and after it has rested. */
const limits = {busyBytes: 4 * 1024 * 1024, idleBytes: 1024 * 1024}
/** How often the size is asked for: it takes a query. */
const every = 100
const idleMs = 5_000

/** Keeps the files of a database bounded, between transactions and when it rests. Its failures are those of the next write. */
export function keepHouse(db: PGlite): Housekeeping {
  let written = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let working = false

  async function clean(mostBytes: number): Promise<void> {
    if (db.closed || working) return
    working = true
    await cleanIfOver(db, mostBytes).catch(() => undefined)
    working = false
  }

  return {
    wrote() {
      written += 1
      if (written % every === 0) void clean(limits.busyBytes)
      clearTimeout(timer)
      timer = setTimeout(() => void clean(limits.idleBytes), idleMs)
      // A process of Node may end meanwhile.
      if (typeof timer === 'object' && 'unref' in timer) timer.unref()
    },
  }
}

async function cleanIfOver(db: PGlite, mostBytes: number): Promise<void> {
  const {rows} = await db.query<{bytes: number}>(
    'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::bigint as bytes from pg_control_checkpoint()',
  )
  if (Number(rows[0]?.bytes ?? 0) < mostBytes) return
  await db.query('vacuum')
  await db.query('checkpoint')
}
