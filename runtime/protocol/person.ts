import * as z from 'zod'
import {subjectIdSchema, tenantIdSchema} from './ids.ts'

/** Who a request speaks for, as the server says: the answer of `GET /v1/me`. A newer server may add fields. [ID-6] */
export const personSchema = z.object({tenant: tenantIdSchema, subject: subjectIdSchema})
export type Person = z.infer<typeof personSchema>

/**
 * Names the person that a request is meant for. The server refuses the request with `other_person` when its token or
 * cookie is another's, because both can change between two requests. [ID-6]
 */
export const personHeader = 'holdfast-person'

/** The value of `personHeader`: ASCII for any subject, and different for different persons. */
export function personHeaderOf({tenant, subject}: Person): string {
  return `${encodeURIComponent(tenant)}/${encodeURIComponent(subject)}`
}

export function isSamePerson(a: Person, b: Person): boolean {
  return a.tenant === b.tenant && a.subject === b.subject
}

/** The subject that a runtime without a server writes under. */
export const localSubject = 'local'
