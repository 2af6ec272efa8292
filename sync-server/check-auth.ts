import * as z from 'zod'
import {checkOptions, filledText, positiveMs, valueThat} from '../runtime/protocol/check-options.ts'
import {kindOf} from '../runtime/protocol/expectation.ts'
import type {KeySetTimes} from './key-set.ts'

/** @throws HoldfastError `misconfigured` naming every invalid option */
export function checkJwtAuth(options: unknown): void {
  const hasKeys = typeof options === 'object' && options !== null && 'jwks' in options
  checkOptions(hasKeys ? keySetAuth : secretAuth, options, 'jwtAuth')
}

/** @throws HoldfastError `misconfigured` naming every invalid option */
export function checkTokenIssue(options: unknown): void {
  checkOptions(issueSchema, options, 'issueToken')
}

/** HS256 needs a key at least as long as its hash. */
const secretBytes = 32
const bytesOf = (text: string) => new TextEncoder().encode(text).length

const secret = z.custom<string>(value => typeof value === 'string' && bytesOf(value) >= secretBytes, {
  error: ({input}) => {
    const came = typeof input === 'string' && input !== '' ? `${bytesOf(input)} bytes` : kindOf(input)
    return `expected text of at least ${secretBytes} bytes, got ${came}`
  },
})

/** Without an issuer and audience, tokens signed for another service would be accepted. */
const claims = {
  issuer: filledText,
  audience: filledText,
  clockToleranceSeconds: z.number().min(0).optional(),
}

const keySetTimes = z
  .strictObject({
    freshMs: positiveMs,
    heldMs: positiveMs,
    unknownMs: positiveMs,
    pauseMs: positiveMs,
    fetchMs: positiveMs,
  } satisfies Record<keyof KeySetTimes, z.ZodType>)
  .partial()

const secretAuth = z.strictObject({...claims, secret})
const keySetAuth = z.strictObject({
  ...claims,
  jwks: valueThat('a URL or a key set with keys', isKeySource),
  keySet: keySetTimes.optional(),
})

function isKeySource(value: unknown): boolean {
  if (value instanceof URL) return true
  return typeof value === 'object' && value !== null && 'keys' in value && Array.isArray(value.keys)
}

const issueSchema = z.strictObject({
  secret,
  issuer: filledText,
  audience: filledText,
  tenant: filledText,
  subject: filledText,
  roles: z.array(z.string()).optional(),
  // May be negative: tests need expired tokens.
  expiresInSeconds: z.number().optional(),
  issuedAt: z.number().min(0).optional(),
})
