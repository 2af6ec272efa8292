import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
  SignJWT,
} from 'jose'
import {v7} from 'uuid'
import * as z from 'zod'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {checkJwtAuth, checkTokenIssue} from './check-auth.ts'
import {type KeySetTimes, remoteKeySet} from './key-set.ts'
import {type Authenticate, type Principal, principalSchema} from './principal.ts'

export type JwtAuthOptions = {
  issuer: string
  audience: string
  /** Clock tolerance in seconds: a token is accepted this long after its `exp`. Default: 5. */
  clockToleranceSeconds?: number
} & ({secret: string} | {jwks: URL | JSONWebKeySet; keySet?: Partial<KeySetTimes>})

/**
 * Creates an `authenticate` function for JWT bearer tokens. Claims: `sub` is the subject, `tenant` the tenant,
 * `roles` an optional list of role names. Errors never contain the token.
 *
 * @throws HoldfastError `misconfigured` naming every invalid option. The returned function throws `unauthenticated`,
 * `token_expired`, or `unavailable` while the key server cannot be reached.
 * @example
 * const server = createSyncServer({store, facts, operations, authenticate: jwtAuth({secret, issuer, audience})})
 */
export function jwtAuth(options: JwtAuthOptions): Authenticate {
  checkJwtAuth(options)
  const verify = verifier(options)
  return async request => {
    const token = bearerToken(request)
    try {
      return principalOf((await verify(token)).payload)
    } catch (error) {
      throw refusalOf(error)
    }
  }
}

/**
 * Signs a token that `jwtAuth({secret, …})` accepts. For hosts with their own login, and for tests.
 *
 * @throws HoldfastError `misconfigured` naming every invalid option
 * @example
 * const token = await issueToken({secret, issuer, audience, tenant: 'acme', subject: 'ana', roles: ['support-lead']})
 */
export async function issueToken(options: {
  secret: string
  issuer: string
  audience: string
  tenant: string
  subject: string
  roles?: string[]
  /** Lifetime in seconds. Default: 3,600. */
  expiresInSeconds?: number
  /** Issue time in seconds since 1970. Default: now. */
  issuedAt?: number
}): Promise<string> {
  checkTokenIssue(options)
  const issuedAt = options.issuedAt ?? Math.floor(Date.now() / 1000)
  const expires = issuedAt + (options.expiresInSeconds ?? 3600)
  return new SignJWT({tenant: options.tenant, roles: options.roles ?? []})
    .setProtectedHeader({alg: 'HS256'})
    .setSubject(options.subject)
    .setIssuer(options.issuer)
    .setAudience(options.audience)
    .setIssuedAt(issuedAt)
    .setJti(v7())
    .setExpirationTime(expires)
    .sign(secretKey(options.secret))
}

function verifier(options: JwtAuthOptions) {
  const claims: JWTVerifyOptions = {
    issuer: options.issuer,
    audience: options.audience,
    clockTolerance: options.clockToleranceSeconds ?? 5,
    requiredClaims: ['exp', 'sub', 'tenant'],
  }
  // Pin the algorithms per key type: a public key must never be accepted as an HMAC secret.
  if ('secret' in options) {
    const key = secretKey(options.secret)
    return (token: string) => jwtVerify(token, key, {...claims, algorithms: ['HS256']})
  }
  const keys =
    options.jwks instanceof URL ? remoteKeySet(options.jwks, options.keySet) : createLocalJWKSet(options.jwks)
  return (token: string) => jwtVerify(token, keys, {...claims, algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA']})
}

function secretKey(secret: string): Uint8Array {
  return new TextEncoder().encode(secret)
}

function bearerToken(request: Request): string {
  const match = /^Bearer ([\w.~+/=-]+)$/i.exec(request.headers.get('authorization') ?? '')
  if (match?.[1]) return match[1]
  throw new HoldfastError('unauthenticated', 'The request needs a header "authorization: Bearer …".')
}

function principalOf(payload: JWTPayload): Principal {
  return principalSchema.parse({
    tenant: payload.tenant,
    subject: payload.sub,
    roles: payload.roles ?? [],
    expiresAt: (payload.exp ?? 0) * 1000,
    token: {id: payload.jti ?? null, issuedAt: (payload.iat ?? 0) * 1000},
  })
}

/**
 * Errors caused by the token itself. All other errors, such as an unreachable key server, are not the caller's fault.
 */
const faultsOfTokens = [
  errors.JWTClaimValidationFailed,
  errors.JWTInvalid,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
  z.ZodError,
]

/** Distinguishes an expired token from an invalid one. The message contains nothing of the token. */
function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) {
    return new HoldfastError('token_expired', 'The token has expired; ask for a new one and try again.')
  }
  if (!faultsOfTokens.some(Fault => error instanceof Fault)) return error
  return new HoldfastError('unauthenticated', 'The token is not valid here.')
}
