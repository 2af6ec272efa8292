import type {ErasureReceipt} from '../runtime/protocol/erasure.ts'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {kindOf} from '../runtime/protocol/expectation.ts'
import {clockToleranceMs} from './clock.ts'
import type {StoredReceipt} from './storage/erasure-book.ts'

export type ErasedFilesOptions = {
  /**
   * PGlite only: the server rewrites the files of the database after an erasure, while nothing else uses it. Default:
   * true. Files of Postgres are never rewritten by the server.
   */
  rewriteFiles?: boolean
  /** The shortest time between two such rewrites (ms). Default: 300,000. */
  rewriteEveryMs?: number
  /** How long (ms) a rewrite waits for an idle database before it is done all the same. Default: 3,600,000. */
  rewriteWithinMs?: number
  /**
   * The operator's statement: after this time (ms) no file holds an erased row any more. It has to cover autovacuum, the
   * reuse of write-ahead log segments, standbys and backups. Default: not stated; receipts wait for
   * `server.filesRewritten`.
   */
  filesGoneAfterMs?: number
}

/** Who removes erased rows from the files of the database, and when. */
export type ErasedFiles = {
  /** Whether the server rewrites them: not on Postgres, nor where the host has turned it off. */
  rewritten(): boolean
  rewriteEveryMs: number
  rewriteWithinMs: number
  /** Null: not stated. */
  goneAfterMs: number | null
}

/** @throws HoldfastError `misconfigured` for a time that is no number of milliseconds */
export function erasedFilesOf(options: ErasedFilesOptions = {}, isPGlite: () => boolean): ErasedFiles {
  const {rewriteFiles = true, rewriteEveryMs = 300_000, rewriteWithinMs = 3_600_000, filesGoneAfterMs} = options
  for (const [name, ms] of Object.entries({rewriteEveryMs, rewriteWithinMs, filesGoneAfterMs: filesGoneAfterMs ?? 0})) {
    if (!Number.isFinite(ms) || ms < 0) {
      throw new HoldfastError('misconfigured', `erasure.${name}: expected milliseconds, zero or more, got ${ms}.`)
    }
  }
  return {
    rewritten: () => rewriteFiles && isPGlite(),
    rewriteEveryMs,
    rewriteWithinMs,
    goneAfterMs: filesGoneAfterMs ?? null,
  }
}

/**
 * The time (ms) from which files hold nothing that was erased, as the operator confirms it. It completes receipts, so
 * anything but a time up to now is refused; clocks may differ a little.
 *
 * @throws HoldfastError `bad_input`
 */
export function rewriteStart(startedAt: unknown, now: number): number {
  if (typeof startedAt === 'number' && startedAt >= 0 && startedAt <= now + clockToleranceMs) {
    return Math.min(startedAt, now)
  }
  const message = `filesRewritten: expected the milliseconds since 1970 at which the rewrite began, not after now, got ${kindOf(startedAt)}`
  throw new HoldfastError('bad_input', message, {details: {field: 'startedAt'}})
}

/** The receipt with the reason why files are outstanding, and until when they are. [RET-2] */
export function withFilesReason({receipt, erasedAt}: StoredReceipt, files: ErasedFiles): ErasureReceipt {
  if (!receipt.outstanding.files) return receipt
  const until = erasedAt === null || files.goneAfterMs === null ? null : erasedAt + files.goneAfterMs
  return {...receipt, outstanding: {...receipt.outstanding, filesWait: {reason: reasonOf(files), until}}}
}

function reasonOf({rewritten, goneAfterMs}: ErasedFiles): string {
  if (rewritten()) return 'Files of the database: the server rewrites them when the database is idle.'
  const kept =
    'Files of the database: erased rows stay in them until autovacuum, until write-ahead log segments are reused and until backups expire.'
  return goneAfterMs === null
    ? `${kept} The operator has not stated how long this takes, and has to remove them and confirm it.`
    : `${kept} The operator states how long this takes.`
}
