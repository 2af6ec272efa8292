import * as z from 'zod'
import {HoldfastError, parse} from '../../runtime/protocol/errors.ts'
import type {Eraser} from '../authority/erase.ts'
import {type Principal, principalSchema} from '../principal.ts'
import {type App, readBody} from './http.ts'

/** Every token of the subject that was issued until now, or the one that is named by its id (`jti`). */
export const revocationSchema = z.strictObject({
  subject: principalSchema.shape.subject,
  token: z
    .string()
    .min(1)
    .max(200)
    .refine(text => !text.includes('\0') && !/\p{Surrogate}/u.test(text), 'expected well-formed text without NUL')
    .optional(),
})

const cursorSchema = z.union([z.literal(''), z.uuid('expected the id of an audit entry')])
const pageEntries = 500

export function accessRoutes(app: App, eraser: Eraser, auditorRole: string): void {
  const {store, environment, bus, operatorRole} = eraser

  app.post('/v1/revocations', async c => {
    const {subject, token} = await readBody(c, revocationSchema)
    const principal = c.get('principal')
    if (subject !== principal.subject) requireRole(principal, operatorRole, 'end the access of another subject')
    const {tenant} = principal
    const at = environment.now()
    await store.revocations.revoke({tenant, subject}, token ?? null, at)
    const entry = {action: 'access.revoked' as const, about: subject, reason: '', at}
    await store.audit.record({tenant, subject: principal.subject, ...entry})
    bus.publish({type: 'revoked', tenant, subject})
    return c.json({})
  })

  app.get('/v1/audit', async c => {
    const principal = c.get('principal')
    requireRole(principal, auditorRole, 'read the audit')
    const after = parse(cursorSchema, c.req.query('after') ?? '', 'after')
    return c.json(await store.audit.page(principal.tenant, after, pageEntries))
  })
}

function requireRole({roles}: Principal, role: string, deed: string): void {
  if (!roles.includes(role)) throw new HoldfastError('forbidden', `Only a holder of the role "${role}" may ${deed}.`)
}
