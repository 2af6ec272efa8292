import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import type {Fence} from './lock-fence.ts'
import type {Stopped} from './opened-database.ts'

/**
 * PGlite swallows whatever is thrown out of Postgres that is not one of Postgres' own errors: an abort, a trap, a file
 * system that failed. It says that the statement worked, and answers every later one with no rows. This makes it
 * fail-stop (Schlichting and Schneider, 'Fail-stop processors', 1983): from the first fault on every call rejects with
 * 'peer_gone', `stopped` is told, and the next open recovers from the write-ahead log. [CUS-5, SYNC-5]
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
    // Its loop swallows what the line above throws, and would ask for ever; this is called outside of that.
    machine.stackRestore = refuse
    machine._PostgresSendReadyForQueryIfNecessary = () => {}
    machine._pgl_pq_flush = () => {}
    // Closing lets go of the files and writes nothing more: what is in memory may be wrong.
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
  // Whether what failed here is on disk nobody knows; a later sync that works would make true what was refused.
  const sync = db.syncToFs.bind(db)
  db.syncToFs = () => sync().catch(error => Promise.reject(stop(error)))
}

const stops = new WeakMap<PGlite, (cause: unknown, told?: HoldfastError) => HoldfastError>()

/**
 * Stops a database that must not be used any more, as a fault of its own would. Returns what its callers get; `told` is
 * what the listener of `failStop` gets instead.
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
