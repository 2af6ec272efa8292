import * as z from 'zod'
import {parse} from '../runtime/protocol/errors.ts'
import type {SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import {subjectIdSchema, tenantIdSchema} from '../runtime/protocol/ids.ts'
import {nameSchema} from '../runtime/protocol/text.ts'

/**
 * The authenticated caller, as named by the application's token. Nothing in a request body can extend its rights.
 * [ID-4]
 */
export const principalSchema = z.strictObject({
  tenant: tenantIdSchema,
  subject: subjectIdSchema,
  roles: z.array(nameSchema(100)).max(100),
  /** Milliseconds since 1970 at which live streams end. */
  expiresAt: z.number(),
  /** The token of the request, for revocation. Absent if the host's tokens have neither id nor issue date. */
  token: z.strictObject({id: z.string().max(200).nullable(), issuedAt: z.number()}).optional(),
})
export type Principal = z.infer<typeof principalSchema>

/** What `authenticate` returns. Ids are plain strings. */
export type Caller = Omit<z.input<typeof principalSchema>, 'expiresAt'> & {
  /** Milliseconds since 1970 at which live streams end. Default: one hour from now, for tokens that do not expire. */
  expiresAt?: number
}

/** Milliseconds after which a live stream of a caller without an expiry is authenticated again. */
const streamMs = 3_600_000

/** @throws HoldfastError `bad_input` that names the field of the caller */
export function principalFor(caller: unknown, now: number): Principal {
  const lasting =
    typeof caller === 'object' && caller !== null && !('expiresAt' in caller && caller.expiresAt !== undefined)
  return parse(principalSchema, lasting ? {...caller, expiresAt: now + streamMs} : caller, 'caller')
}

/** The tenant and subject whose records a query may read. */
export type Owner = {tenant: TenantId; subject: SubjectId}

/**
 * Authenticates a request by its headers.
 *
 * @throws HoldfastError `unauthenticated` or `token_expired`, which the caller receives. Any other error means that
 * the caller could not be checked: it goes to `onFault`, and the caller receives 503 and retries.
 * @example
 * const authenticate: Authenticate = async request => {
 *   const user = await sessions.find(request.headers.get('authorization') ?? '')
 *   if (!user) throw new HoldfastError('unauthenticated', 'The session is unknown.')
 *   return {tenant: user.company, subject: user.id, roles: user.roles}
 * }
 */
export type Authenticate = (request: Request) => Caller | Promise<Caller>
