import {HoldfastError} from './errors.ts'

/**
 * Parses the address of a server into the base URL of its routes. A path is kept, with or without a trailing slash.
 *
 * @throws HoldfastError `misconfigured` naming the field, for anything but an absolute http or https address
 * @example routeUrl(serverUrl('https://shop.example/agents', 'sync.url'), '/v1/me') // https://shop.example/agents/v1/me
 */
export function serverUrl(given: unknown, field: string): URL {
  const url = typeof given === 'string' || given instanceof URL ? parsed(String(given)) : null
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw refused(field, 'an absolute http or https address, like "https://shop.example/agents"')
  }
  if (url.username !== '' || url.password !== '') throw refused(field, 'an address without a user name or password')
  if (url.search !== '' || url.hash !== '') throw refused(field, 'an address without "?" and "#"')
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
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

/** The error does not repeat the address, because it may contain a password. */
function refused(field: string, expected: string): HoldfastError {
  return new HoldfastError('misconfigured', `${field}: expected ${expected}`, {details: {field, expected}})
}
