import {HoldfastError} from '../../runtime/protocol/errors.ts'

/**
 * What Postgres answers when the fault is its own or that of its surroundings, never that of a statement:
 * connections (08), authorisation of the server itself (28), full or exhausted (53), shut down or failed over (57P), failing disks (58),
 * timeouts (57014, 55P03, 25P03), transactions that lost a race (40001, 40P01) or met a standby (25006), a database
 * that is being replaced (3D000). https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const sqlStates = /^(08...|28...|53...|57P..|58...|57014|55P03|25P03|40001|40P01|25006|3D000)$/
const systemCodes =
  /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOTFOUND|EAI_AGAIN|EADDRNOTAVAIL|EMFILE|ENFILE|ERR_SOCKET_\w+|ERR_STREAM_\w+)$/
/** `pg` gives these no code. */
const wordsOfPg =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client (has encountered|was closed)|The server does not support SSL|Cannot use a pool after)/

/** Wraps what says nothing about the statement as `unavailable`; everything else passes unchanged. */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof HoldfastError) return error
  return isUnavailable(error) ? unavailable(error) : error
}

export function unavailable(cause: unknown): HoldfastError {
  return new HoldfastError('unavailable', 'The database cannot be reached at the moment. Try again in a few seconds.', {
    cause,
  })
}

function isUnavailable(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : ''
  if (sqlStates.test(code) || systemCodes.test(code) || wordsOfPg.test(error.message)) return true
  // What Node makes of several addresses that all failed.
  return error instanceof AggregateError && error.errors.some(each => each instanceof Error && isUnavailable(each))
}
