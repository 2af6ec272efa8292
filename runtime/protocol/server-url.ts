import {HoldfastError} from './errors.ts'

/**
 * The address of a server as a base for its routes; a path in it is kept, with or without a slash at its end.
 *
 * @throws HoldfastError `misconfigured` naming the field for anything but an absolute http or https address
 * @example
 * routeUrl(serverUrl('https://shop.example/agents', 'sync.url'), '/v1/me') // https://shop.example/agents/v1/me
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

/** `path` begins with a slash and may have a query. */
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

/** The address itself is not repeated: it may hold a password. */
function refused(field: string, expected: string): HoldfastError {
  return new HoldfastError('misconfigured', `${field}: expected ${expected}`, {details: {field, expected}})
}
