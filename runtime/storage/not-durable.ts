import {HoldfastError} from '../protocol/errors.ts'

/**
 * SQLSTATE classes that say that a write could not be stored, whatever it was: no connection, no resources, an operator's
 * intervention, a fault of the system, a fault of Postgres. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const cannotStore = /^(?:08|53|57|58|XX)[0-9A-Z]{3}$/

/** Error codes of a file system, like `EIO`. */
const fileFault = /^E[A-Z]+$/

/**
 * Gives a fault of the database or its files the code `not_durable`. An error of another kind is a fault of the caller or
 * of a statement and is returned unchanged.
 */
export function notDurable(error: unknown): unknown {
  if (error instanceof HoldfastError) return error
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  const isFault =
    (typeof code === 'string' && (cannotStore.test(code) || fileFault.test(code))) || error instanceof DOMException
  return isFault
    ? new HoldfastError('not_durable', 'The database of this device took no entry.', {cause: error})
    : error
}
