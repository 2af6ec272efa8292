import * as z from 'zod'
import {subjectIdSchema, tenantIdSchema} from './ids.ts'

/** The person that a request acts for: the response of `GET /v1/me`. Newer servers may add fields. [ID-6] */
export const personSchema = z.object({tenant: tenantIdSchema, subject: subjectIdSchema})
export type Person = z.infer<typeof personSchema>

/**
 * Request header that names the intended person. The server refuses the request with `other_person` when its token or
 * cookie belongs to someone else, because both can change between two requests. [ID-6]
 */
export const personHeader = 'holdfast-person'

/** Returns the value of `personHeader`: ASCII, and unique for each person. */
export function personHeaderOf({tenant, subject}: Person): string {
  return `${encodeURIComponent(tenant)}/${encodeURIComponent(subject)}`
}

export function isSamePerson(a: Person, b: Person): boolean {
  return a.tenant === b.tenant && a.subject === b.subject
}

/** Subject of events that a runtime without a server writes. */
export const localSubject = 'local'
