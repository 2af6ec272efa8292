import {HoldfastError} from '../protocol/errors.ts'

/** A token, or a function that returns one. The function returns null while no person is signed in. */
export type TokenOption = string | (() => string | null | Promise<string | null>)

/**
 * Returns the application's tokens as one function; null when requests use cookies.
 *
 * @throws HoldfastError `misconfigured` when `token` has another type
 */
export function tokenSource(
  token: TokenOption | undefined,
  {required = false}: {required?: boolean} = {},
): (() => Promise<string | null>) | null {
  if (token === undefined && !required) return null
  if (typeof token === 'function') return async () => token()
  if (typeof token === 'string') return async () => token
  const message = `sync.token: expected a token or a function that returns one, got ${typeof token}`
  throw new HoldfastError('misconfigured', message, {details: {field: 'sync.token'}})
}
