import * as z from 'zod'
import {approvalIdSchema, approverKeyIdSchema, operationIdSchema, subjectIdSchema} from './ids.ts'
import {jsonSchema} from './json.ts'

/** SHA-256 in lower-case hex over the canonical JSON of exactly what would be executed. */
export const digestSchema = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hex digits')

const about = {approval: approvalIdSchema, operation: operationIdSchema}
const note = z.string().max(1000)
const role = z.string().min(1).max(100)

/** Who decided, for whom, and with which key if it was decided while the server was out of reach. [APP-4] */
const said = {
  ...about,
  by: subjectIdSchema,
  /** Whose role a delegate used. */
  delegatedBy: subjectIdSchema.optional(),
  note: note.optional(),
  signed: z.strictObject({key: approverKeyIdSchema, nonce: z.string().max(100), at: z.number()}).optional(),
}

/**
 * An approval names one operation by its digest, who may decide and until when. It grants nothing else, is used once,
 * and every event about it is the server's. [APP-1, APP-2]
 */
export const approvalKinds = {
  'approval.requested': z.strictObject({
    ...about,
    digest: digestSchema,
    /** The role that may decide. */
    role,
    /** Why a person is needed, in words for that person. */
    reason: note,
    expiresAt: z.number(),
    /** What the approver is shown is what the digest covers. [APP-3] */
    shown: z.strictObject({tool: z.string(), version: z.string(), input: jsonSchema}),
    /** How many different people have to approve. Default: 1. */
    approvers: z.int().min(1).max(5).optional(),
    /** Whether the requester may be one of them. Default: only if one approver is enough. */
    requesterMayDecide: z.boolean().optional(),
    /** The role that may decide as well from this time on, milliseconds since 1970. */
    escalation: z.strictObject({role, at: z.number()}).optional(),
  }),
  /** One yes of several; the last one is `approval.granted`. */
  'approval.endorsed': z.strictObject({...said, digest: digestSchema}),
  'approval.granted': z.strictObject({...said, digest: digestSchema}),
  'approval.rejected': z.strictObject(said),
  'approval.escalated': z.strictObject({...about, role}),
  'approval.expired': z.strictObject(about),
}

/** What an approver sends; the digest is the one that was on the screen. */
export const decisionSchema = z.strictObject({
  verdict: z.enum(['approve', 'reject']),
  digest: digestSchema,
  note: note.optional(),
})
export type Decision = z.infer<typeof decisionSchema>

export const endorsementSchema = z.strictObject({
  by: subjectIdSchema,
  at: z.number(),
  delegatedBy: subjectIdSchema.nullable(),
  note: z.string().nullable(),
})
export type Endorsement = z.infer<typeof endorsementSchema>

/** One row of the approver's inbox, before it is known whose inbox. */
export const approvalRecordSchema = z.strictObject({
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
  /** How many people have to say yes, and who has. */
  approvers: z.int().positive(),
  endorsements: z.array(endorsementSchema),
  requesterMayDecide: z.boolean(),
  escalation: z.strictObject({role: z.string(), at: z.number(), happened: z.boolean()}).nullable(),
  decidedBy: subjectIdSchema.nullable(),
  /** Why it was voided, or the approver's note. */
  note: z.string().nullable(),
  requestedAt: z.number(),
  expiresAt: z.number(),
  decidedAt: z.number().nullable(),
})
export type ApprovalRecord = z.infer<typeof approvalRecordSchema>

export const inboxItemSchema = z.strictObject({
  ...approvalRecordSchema.shape,
  /** What the reader may do about it: decide, wait for others, or nothing because the request is their own. */
  you: z.enum(['may_decide', 'has_decided', 'asked_for_it']),
})
export type InboxItem = z.infer<typeof inboxItemSchema>

/** Pure: where a subject who holds the role stands towards an approval. */
export function standingOf(record: ApprovalRecord, subject: string): InboxItem['you'] {
  if (record.requestedBy === subject && !record.requesterMayDecide) return 'asked_for_it'
  const decided = record.decidedBy === subject || record.endorsements.some(({by}) => by === subject)
  return decided ? 'has_decided' : 'may_decide'
}

/** The roles whose holders may decide it now. */
export function rolesOf({role, escalation}: Pick<ApprovalRecord, 'role' | 'escalation'>): string[] {
  return escalation?.happened ? [role, escalation.role] : [role]
}
