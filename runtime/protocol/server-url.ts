import {HoldfastError} from './errors.ts'

/**
 * Parses the address of a server into the base URL of its routes. A path is kept, with or without a trailing slash.
 *
 * @throws HoldfastError `misconfigured` naming the field, for anything but an absolute http or https address
 * @example routeUrl(serverUrl('https://shop.example/agents', 'sync.url'), '/v1/me') // https://shop.example/agents/v1/me
 */
export function serverUrl(given: unknown, field: string): URL {
  const expected = urlFault(given)
  // The error does not repeat the address, because it may contain a password.
  if (expected !== null) {
    throw new HoldfastError('misconfigured', `${field}: expected ${expected}`, {details: {field, expected}})
  }
  const url = new URL(String(given).trim())
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

/** What is expected of the address of a server in place of `given`; null when it can be used. */
export function urlFault(given: unknown): string | null {
  const url = typeof given === 'string' || given instanceof URL ? parsed(String(given)) : null
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    return 'an absolute http or https address, like "https://shop.example/agents"'
  }
  if (url.username !== '' || url.password !== '') return 'an address without a user name or password'
  return url.search !== '' || url.hash !== '' ? 'an address without "?" and "#"' : null
}

/** Returns the URL of a route. `path` begins with a slash and may have a query. */
export function routeUrl(base: URL, path: string): URL {
  return new URL(path.slice(1), base)
}

function parsed(text: string): URL | null {
  try {
    return new URL(text.trim())
  } catch {
    return null
  }
}
