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

/** A device of another protocol is told so before anything it sends is taken for something else. */
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

/** The body of a PUT is the bytes of a blob, that of anything else is JSON. */
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

  /** A failure of the function itself says nothing about the caller, who must not be asked to sign in again for it. */
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
 * A device names the person whose records it holds. Its token or cookie may have changed since it asked, and nothing of
 * one person may be taken or shown in the name of another. [ID-6]
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
 * A browser adds cookies to requests of any site. Only a request of our own client can carry our header across origins,
 * because the browser asks the server first.
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

/** Asked after every token that is valid: what was taken back must not work until it expires by itself. */
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

/** One subject cannot use up its tenant, nor one tenant the server. */
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
