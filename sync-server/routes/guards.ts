import type {MiddlewareHandler} from 'hono'
import type {Environment} from '../../runtime/protocol/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {personHeader, personHeaderOf} from '../../runtime/protocol/person.ts'
import {limits, protocolVersion, wireRevision} from '../../runtime/protocol/version.ts'
import {protocolHeader, revisionHeader} from '../../runtime/protocol/wire.ts'
import {type BodyRoom, bodyRoom} from '../body-room.ts'
import {clockToleranceMs} from '../clock.ts'
import {type Authenticate, type Principal, principalFor} from '../principal.ts'
import {type RateLimits, rateLimiter} from '../rate-limit.ts'
import type {Store} from '../storage/store.ts'
import type {Env} from './http.ts'

/** Refuses a device of another protocol version before anything of its request is interpreted. */
export function speaksProtocol(): MiddlewareHandler<Env> {
  return async (c, next) => {
    c.header(protocolHeader, String(protocolVersion))
    c.header(revisionHeader, String(wireRevision))
    const spoken = c.req.header(protocolHeader)
    if (spoken !== undefined && spoken !== String(protocolVersion)) {
      throw new HoldfastError(
        'version_mismatch',
        `This server speaks protocol ${protocolVersion}, not ${spoken.slice(0, 20)}.`,
      )
    }
    await next()
  }
}

/** Limits the body size. A PUT carries the bytes of a blob, every other method JSON. */
export function bodyWithinLimit(room: BodyRoom, jsonBytes: number = limits.bodyBytes): MiddlewareHandler<Env> {
  return bodyRoom(room, method => (method === 'PUT' ? limits.blobBytes : jsonBytes))
}

export function authenticated(
  authenticate: Authenticate,
  {now}: Environment,
  onFault: (error: unknown) => void,
): MiddlewareHandler<Env> {
  return async (c, next) => {
    c.header('cache-control', 'no-store')
    c.set('principal', principalOf(await callerOf(c.req.raw), now()))
    await next()
  }

  /** A failure of `authenticate` itself is no statement about the caller, who must not be asked to sign in again. */
  async function callerOf(request: Request): Promise<unknown> {
    try {
      return await authenticate(request)
    } catch (error) {
      if (error instanceof HoldfastError) throw error
      onFault(error)
      throw new HoldfastError('unavailable', '`authenticate` has failed.', {cause: error})
    }
  }
}

function principalOf(caller: unknown, now: number): Principal {
  try {
    return principalFor(caller, now)
  } catch (error) {
    const {message} = HoldfastError.from(error)
    throw new HoldfastError('internal', `authenticate returned no valid caller. ${message}`, {cause: error})
  }
}

/**
 * Refuses a request whose person header differs from its caller. A device names the person whose records it holds;
 * its token or cookie may have changed since, and records of one person must not be sent or shown as another. [ID-6]
 */
export function forThatPerson(): MiddlewareHandler<Env> {
  return async (c, next) => {
    const meant = c.req.header(personHeader)
    if (meant !== undefined && meant !== personHeaderOf(c.get('principal'))) {
      throw new HoldfastError('other_person', 'The request is meant for another person than the one it is signed by.')
    }
    await next()
  }
}

/**
 * Protects against CSRF. A browser adds cookies to cross-site requests, but only our client can send the protocol
 * header across origins, because that needs a preflight request.
 */
export function noForgedCookies(): MiddlewareHandler<Env> {
  return async (c, next) => {
    const {method} = c.req
    const byCookie = c.req.header('cookie') !== undefined && c.req.header('authorization') === undefined
    const crossSite = c.req.header('sec-fetch-site') === 'cross-site' || c.req.header('sec-fetch-site') === 'same-site'
    if (byCookie && crossSite && method !== 'GET' && c.req.header(protocolHeader) === undefined) {
      throw new HoldfastError(
        'unauthenticated',
        `A request by cookie from another site needs the header "${protocolHeader}".`,
      )
    }
    await next()
  }
}

/** Refuses revoked tokens. Checked for every valid token, since a revoked token must not work until it expires. */
export function notRevoked({revocations}: Store, {now}: Environment): MiddlewareHandler<Env> {
  return async (c, next) => {
    const principal = c.get('principal')
    const {token} = principal
    if (token && token.issuedAt > now() + clockToleranceMs) {
      throw new HoldfastError('unauthenticated', 'The token is dated in the future.')
    }
    if (token && (await revocations.isRevoked(principal, token, now()))) {
      throw new HoldfastError('unauthenticated', 'The token has been revoked.')
    }
    await next()
  }
}

/** Limits the request rate per subject and per tenant. */
export function withinRate(limits: RateLimits, environment: Environment): MiddlewareHandler<Env> {
  const wait = rateLimiter(environment.now)
  return async (c, next) => {
    const {tenant, subject} = c.get('principal')
    const own = wait(JSON.stringify([tenant, subject]), limits.subject)
    const waitMs = own > 0 ? own : wait(JSON.stringify([tenant]), limits.tenant)
    if (waitMs > 0) {
      const whose = own > 0 ? 'subject' : 'tenant'
      const {perSecond} = limits[whose]
      const message = `Too many requests of this ${whose}, at most ${perSecond} a second are taken: wait ${waitMs} ms.`
      throw new HoldfastError('rate_limited', message, {details: {of: whose, waitMs}})
    }
    await next()
  }
}
