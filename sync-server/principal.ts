import * as z from 'zod'
import type {SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import {subjectIdSchema, tenantIdSchema} from '../runtime/protocol/ids.ts'
import {nameSchema} from '../runtime/protocol/text.ts'

/** Who a request speaks for, as the application's own token says; nothing in a body can widen it. [ID-4] */
export const principalSchema = z.strictObject({
  tenant: tenantIdSchema,
  subject: subjectIdSchema,
  roles: z.array(nameSchema(100)).max(100),
  /** Milliseconds since 1970; live streams end then. */
  expiresAt: z.number(),
  /** Which token it came with, for revocation; a host whose tokens have neither id nor date leaves it out. */
  token: z.strictObject({id: z.string().max(200).nullable(), issuedAt: z.number()}).optional(),
})
export type Principal = z.infer<typeof principalSchema>

/** Whose records a query may see. */
export type Owner = {tenant: TenantId; subject: SubjectId}

/**
 * Names the caller of a request from its headers alone.
 *
 * @throws HoldfastError `unauthenticated` or `token_expired`
 */
export type Authenticate = (request: Request) => Promise<Principal>
