import type {PGlite} from '@electric-sql/pglite'

/**
 * Replaces the background processes of Postgres, which PGlite does not have. Without checkpoints the write-ahead log grows
 * without bound. Without vacuum dead rows are never removed.
 */
export interface Housekeeping {
  /** Call after each committed transaction. */
  wrote(): void
}

/** Size of the write-ahead log, in bytes, that triggers a checkpoint: while the device writes, and when it is idle. */
const limits = {busyBytes: 4 * 1024 * 1024, idleBytes: 1024 * 1024}
/** Number of transactions between two checks of the size. Each check is a query. */
const every = 100
const idleMs = 5_000

/** Keeps the files of a database bounded. Ignores its own failures: their cause also fails the next write. */
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
      // On Node, the timer must not keep the process alive.
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
