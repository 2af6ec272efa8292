import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import type {Fence} from './lock-fence.ts'
import type {Stopped} from './opened-database.ts'

/**
 * Makes a PGlite fail-stop (Schlichting and Schneider, 'Fail-stop processors', 1983). PGlite swallows exceptions that are
 * not Postgres errors: an abort, a trap, a failed filesystem. It then reports success, and returns no rows for all later
 * statements. With this, every call after the first fault rejects with `peer_gone`, and `stopped` is called once. The next
 * open recovers from the write-ahead log. [CUS-5, SYNC-5]
 */
export function failStop(db: PGlite, stopped: Stopped = () => {}, fence: Fence = () => {}): void {
  const machine = db.Module
  const {_PostgresMainLoopOnce: runOnce, _PostgresMainLongJmp: recover} = machine
  const ownError: unknown = Reflect.get(db, 'POSTGRES_MAIN_LONGJMP')
  let dead: HoldfastError | undefined
  stops.set(db, stop)

  function stop(cause: unknown, told?: HoldfastError): HoldfastError {
    if (dead) return dead
    const error = gone(cause)
    dead = error
    const refuse = () => {
      throw error
    }
    machine._PostgresMainLoopOnce = refuse
    // PGlite's loop swallows the error of `refuse` and would repeat forever. `stackRestore` is called outside the loop.
    machine.stackRestore = refuse
    machine._PostgresSendReadyForQueryIfNecessary = () => {}
    machine._pgl_pq_flush = () => {}
    // Close the files without writing: the state in memory may be corrupt.
    machine._pgl_run_atexit_funcs = () => {}
    stopped(told ?? error)
    return error
  }

  machine._PostgresMainLoopOnce = () => {
    try {
      fence()
      runOnce()
    } catch (error) {
      if (statusOf(error) === ownError) throw error
      throw stop(error)
    }
  }
  machine._PostgresMainLongJmp = () => {
    try {
      recover()
    } catch (error) {
      throw stop(error)
    }
  }
  // After a failed sync the durable state is unknown. A later successful sync would commit writes that were rejected.
  const sync = db.syncToFs.bind(db)
  db.syncToFs = () => sync().catch(error => Promise.reject(stop(error)))
}

const stops = new WeakMap<PGlite, (cause: unknown, told?: HoldfastError) => HoldfastError>()

/**
 * Stops a database as an internal fault would. Returns the error that its callers get. The listener of `failStop` gets
 * `told` if it is set.
 */
export function stopDatabase(db: PGlite, cause: unknown, told?: HoldfastError): HoldfastError {
  return stops.get(db)?.(cause, told) ?? gone(cause)
}

function gone(cause: unknown): HoldfastError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new HoldfastError(
    'peer_gone',
    `Postgres stopped (${why}); what it was doing may be done or not. Open it again.`,
    {
      cause,
    },
  )
}

function statusOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'status') : undefined
}
