import {HoldfastError} from '../../runtime/protocol/errors.ts'

/**
 * SQLSTATE codes of errors of Postgres or its environment, never of a statement: connections (08), authorisation of
 * the server itself (28), insufficient resources (53), shutdown or failover (57P), disk errors (58), timeouts (57014,
 * 55P03, 25P03), transactions that lost a race (40001, 40P01) or reached a standby (25006), a database that is being
 * replaced (3D000). https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const sqlStates = /^(08...|28...|53...|57P..|58...|57014|55P03|25P03|40001|40P01|25006|3D000)$/
const systemCodes =
  /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOTFOUND|EAI_AGAIN|EADDRNOTAVAIL|EMFILE|ENFILE|ERR_SOCKET_\w+|ERR_STREAM_\w+)$/
/** Errors to which `pg` gives no code. */
const wordsOfPg =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client (has encountered|was closed)|The server does not support SSL|Cannot use a pool after)/

/** Wraps an error that is not caused by the statement as `unavailable`. Returns other errors unchanged. */
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
  // Node's error after a connection attempt failed on several addresses.
  return error instanceof AggregateError && error.errors.some(each => each instanceof Error && isUnavailable(each))
}
