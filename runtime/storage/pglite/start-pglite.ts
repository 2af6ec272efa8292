import {PGlite, type PGliteOptions} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import {orBootFault} from './boot-faults.ts'
import {type DamageSign, damageSignOf} from './damage.ts'
import {failStop, stopDatabase} from './fail-stop.ts'
import {fenceWrites} from './fence-writes.ts'
import type {Fence} from './lock-fence.ts'
import type {Stopped} from './opened-database.ts'

/** The smallest module there is. PGlite fetches 300 KB of initdb unless one is passed, and we never run it. */
const emptyWasmModule = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])

/**
 * `random_page_cost`: every page is in memory or on flash, and nothing gathers statistics here (no autovacuum), so with
 * the default of 4 Postgres guesses few rows and sorts a whole session where walking its index would do: 100 times
 * slower for the last 400 of 30,000 events.
 */
const settings = ['shared_buffers=8MB', 'jit=off', 'random_page_cost=1']

/** Boots Postgres in 35 ms instead of 150. */
function bootOptions(): PGliteOptions {
  return {
    relaxedDurability: false,
    initdbWasmModule: new WebAssembly.Module(emptyWasmModule),
    startParams: [...PGlite.defaultStartParams, ...settings.flatMap(setting => ['-c', setting])],
  }
}

/** What Postgres calls a disk that is full. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const diskFull = '53100'

export type DamageOptions = {
  /**
   * `stop`: a sign of damaged files stops the database, and `onStopped` is called with 'database_damaged', whose details
   * tell the sign. `stop_if_certain`: only a certain one does. Left out, none does.
   */
  onDamage?: 'stop' | 'stop_if_certain' | undefined
}

/**
 * Starts a PGlite that acknowledges nothing that is not flushed, stops at its first fault, and says when room is short.
 * A database that is damaged in one place must not be written to in another, so a device stops at signs of damage too.
 * [LOG-9]
 */
export async function startPGlite(
  options: PGliteOptions,
  onStopped?: Stopped,
  {onDamage, fence}: DamageOptions & {fence?: Fence | undefined} = {},
): Promise<PGlite> {
  const db = await orBootFault(PGlite.create({...bootOptions(), ...options}))
  failStop(db, onStopped, fence)
  if (fence) fenceWrites(db, fence)
  const run = db.execProtocolStream.bind(db)
  db.execProtocolStream = (...args) =>
    run(...args).catch(error => {
      const sign = damageSignOf(error)
      const stops = sign === 'certain' ? onDamage : onDamage === 'stop' && sign
      return Promise.reject(sign && stops ? stopDatabase(db, error, foundDamage(sign, error)) : inOwnTerms(error))
    })
  return db
}

/** Starts Postgres on files that are damaged, to read what can be read: nothing that it writes is of use to anybody. */
export function startForSalvage(options: PGliteOptions): Promise<PGlite> {
  const boot = bootOptions()
  // An index of the catalogue that is damaged would hide tables that are not.
  const startParams = [...(boot.startParams ?? []), '-c', 'ignore_system_indexes=on']
  return PGlite.create({...boot, startParams, ...options})
}

function foundDamage(sign: DamageSign, error: unknown): HoldfastError {
  const why = error instanceof Error ? error.message : String(error)
  return new HoldfastError('database_damaged', `Stored data cannot be read: ${why}.`, {
    details: {sign, why: `${String(Reflect.get(Object(error), 'code'))}: ${why}`},
    cause: error,
  })
}

function inOwnTerms(error: unknown): unknown {
  if (!(error instanceof Error) || Reflect.get(error, 'code') !== diskFull) return error
  return new HoldfastError('storage_full', `The device has no room left for this write: ${error.message}.`, {
    cause: error,
  })
}
