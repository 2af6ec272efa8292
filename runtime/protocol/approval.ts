import * as z from 'zod'
import {approvalIdSchema, operationIdSchema, subjectIdSchema} from './ids.ts'
import {jsonSchema} from './json.ts'

/** SHA-256 in lower-case hex over the canonical JSON of exactly what would be executed. */
export const digestSchema = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hex digits')

/**
 * An approval names one operation by its digest, who may decide and until when. It grants nothing else, is used once,
 * and every event about it is the server's. [APP-1, APP-2]
 */
export const approvalKinds = {
  'approval.requested': z.strictObject({
    approval: approvalIdSchema,
    operation: operationIdSchema,
    digest: digestSchema,
    /** The role that may decide. */
    role: z.string().min(1).max(100),
    /** Why a person is needed, in words for that person. */
    reason: z.string().max(1000),
    expiresAt: z.number(),
    /** What the approver is shown is what the digest covers. [APP-3] */
    shown: z.strictObject({tool: z.string(), version: z.string(), input: jsonSchema}),
  }),
  'approval.granted': z.strictObject({
    approval: approvalIdSchema,
    operation: operationIdSchema,
    digest: digestSchema,
    by: subjectIdSchema,
    note: z.string().max(1000).optional(),
  }),
  'approval.rejected': z.strictObject({
    approval: approvalIdSchema,
    operation: operationIdSchema,
    by: subjectIdSchema,
    note: z.string().max(1000).optional(),
  }),
  'approval.expired': z.strictObject({approval: approvalIdSchema, operation: operationIdSchema}),
}

/** What an approver sends; the digest is the one that was on the screen. */
export const decisionSchema = z.strictObject({
  verdict: z.enum(['approve', 'reject']),
  digest: digestSchema,
  note: z.string().max(1000).optional(),
})
export type Decision = z.infer<typeof decisionSchema>

/** One row of the approver's inbox. */
export const inboxItemSchema = z.strictObject({
  approval: approvalIdSchema,
  operation: operationIdSchema,
  session: z.string(),
  run: z.string(),
  requestedBy: subjectIdSchema,
  role: z.string(),
  reason: z.string(),
  digest: digestSchema,
  shown: z.strictObject({tool: z.string(), version: z.string(), input: jsonSchema}),
  status: z.enum(['open', 'granted', 'rejected', 'expired', 'voided']),
  decidedBy: subjectIdSchema.nullable(),
  /** Why it was voided, or the approver's note. */
  note: z.string().nullable(),
  requestedAt: z.number(),
  expiresAt: z.number(),
  decidedAt: z.number().nullable(),
})
export type InboxItem = z.infer<typeof inboxItemSchema>
