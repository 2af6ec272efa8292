import type {MiddlewareHandler} from 'hono'

/**
 * Refuses requests for a host that is neither this machine nor one of `origins`. A page of another site can point its own
 * name at this machine and would then read what the demo hands to anybody (DNS rebinding).
 */
export function knownHost(origins: readonly string[]): MiddlewareHandler {
  const known = new Set(origins.map(origin => new URL(origin).host))
  return async (c, next) => {
    const host = c.req.header('host') ?? new URL(c.req.url).host
    if (isLoopback(host) || known.has(host.toLowerCase())) return next()
    const message = 'This host is not known. Set HOLDFAST_ORIGIN to the address under which people open the desk.'
    return c.json({error: {code: 'forbidden', message}}, 403)
  }
}

function isLoopback(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false
  const {hostname} = new URL(`http://${host}`)
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  )
}
