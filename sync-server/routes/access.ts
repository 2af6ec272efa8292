import * as z from 'zod'
import {subjectIdSchema, tenantIdSchema} from '../../runtime/protocol/ids.ts'
import {nameSchema} from '../../runtime/protocol/text.ts'
import {endLentRoles} from '../authority/delegations.ts'
import type {Eraser} from '../authority/erase.ts'
import {auditActions} from '../storage/store.ts'
import type {App} from './http.ts'
import {requireRole} from './require-role.ts'
import {handle, nothingSchema, route} from './route.ts'

/** Revokes one token by its id (`jti`), or all tokens of the subject issued until now. */
export const revocationSchema = z.strictObject({
  subject: subjectIdSchema,
  token: nameSchema(200).optional(),
})

export const auditPageSchema = z.strictObject({
  entries: z.array(
    z.strictObject({
      id: z.uuid(),
      tenant: tenantIdSchema,
      subject: subjectIdSchema,
      action: z.enum(auditActions),
      /** Id of the record that the entry is about. */
      about: z.string(),
      reason: z.string(),
      at: z.number(),
    }),
  ),
  /** Cursor of the next page, or null on the last page. */
  next: z.string().nullable(),
})

const pageEntries = 500

const revokeAccess = route({
  name: 'revokeAccess',
  method: 'POST',
  path: '/v1/revocations',
  summary: 'Ends the access of a subject and the roles that it has lent, or the access of one token.',
  body: revocationSchema,
  answers: {200: nothingSchema},
  errors: ['forbidden'],
})

const readAudit = route({
  name: 'readAudit',
  method: 'GET',
  path: '/v1/audit',
  summary: 'A page of the audit of the tenant, oldest first, for holders of the role of the auditor.',
  query: {after: z.union([z.literal(''), z.uuid('expected the id of an audit entry')]).default('')},
  answers: {200: auditPageSchema},
  errors: ['forbidden'],
})

export function accessRoutes(app: App, eraser: Eraser, auditorRole: string): void {
  const {store, environment, bus, operatorRole} = eraser

  handle(app, revokeAccess, async ({body: {subject, token}, principal}) => {
    if (subject !== principal.subject) requireRole(principal, operatorRole, 'end the access of another subject')
    const {tenant} = principal
    const at = environment.now()
    await store.revocations.revoke({tenant, subject}, token ?? null, at)
    const entry = {action: 'access.revoked' as const, about: subject, reason: '', at}
    await store.audit.record({tenant, subject: principal.subject, ...entry})
    if (token === undefined) {
      await endLentRoles(eraser, {tenant, subject}, principal.subject, 'The access of the lender ended.')
    }
    bus.publish({type: 'revoked', tenant, subject})
    return {}
  })

  handle(app, readAudit, async ({query: {after}, principal}) => {
    requireRole(principal, auditorRole, 'read the audit')
    return await store.audit.page(principal.tenant, after, pageEntries)
  })
}
