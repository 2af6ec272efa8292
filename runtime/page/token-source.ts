import {HoldfastError} from '../protocol/errors.ts'

/** A token, or a function that brings one and answers null while nobody is signed in. */
export type TokenOption = string | (() => Promise<string | null>)

/**
 * The application's tokens as one function; null when requests go with cookies.
 *
 * @throws HoldfastError `misconfigured` for what can never bring one
 */
export function tokenSource(
  token: TokenOption | undefined,
  {required = false}: {required?: boolean} = {},
): (() => Promise<string | null>) | null {
  if (token === undefined && !required) return null
  if (typeof token === 'function') return async () => token()
  if (typeof token === 'string') return async () => token
  const message = `sync.token: expected a token or a function that brings one, got ${typeof token}`
  throw new HoldfastError('misconfigured', message, {details: {field: 'sync.token'}})
}
