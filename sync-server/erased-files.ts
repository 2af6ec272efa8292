import type {ErasureReceipt} from '../runtime/protocol/erasure.ts'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {kindOf} from '../runtime/protocol/expectation.ts'
import {clockToleranceMs} from './clock.ts'
import type {StoredReceipt} from './storage/erasure-book.ts'

export type ErasedFilesOptions = {
  /**
   * PGlite only: the server rewrites the database files after an erasure, while the database is idle. Default: true.
   * The server never rewrites files of Postgres.
   */
  rewriteFiles?: boolean
  /** Minimum time between two rewrites (ms). Default: 300,000. */
  rewriteEveryMs?: number
  /** Maximum time (ms) a rewrite waits for an idle database; then it runs anyway. Default: 3,600,000. */
  rewriteWithinMs?: number
  /**
   * The operator's guarantee: this time (ms) after an erasure no file contains an erased row. It must cover
   * autovacuum, the reuse of write-ahead log segments, standbys and backups. Default: none; receipts wait for
   * `server.filesRewritten`.
   */
  filesGoneAfterMs?: number
}

/** How and when erased rows are removed from the database files. */
export type ErasedFiles = {
  /** Whether the server rewrites the files: false on Postgres, or if the host has disabled it. */
  rewritten(): boolean
  rewriteEveryMs: number
  rewriteWithinMs: number
  /** Null: the operator has given no guarantee. */
  goneAfterMs: number | null
}

/** @throws HoldfastError `misconfigured` for a time that is not a number of milliseconds */
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
 * Validates the time (ms) at which the operator began to rewrite the files. It completes receipts, so a time in the
 * future is refused; a clock difference up to the tolerance is accepted.
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

/** Adds to a receipt why files are outstanding, and until when. [RET-2] */
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
