import * as z from 'zod'
import {delegationIdSchema, subjectIdSchema} from './ids.ts'

const role = z.string().min(1).max(100)

/** A holder of a role lends it to somebody until a time; whoever has it lent cannot lend it on. */
export const newDelegationSchema = z.strictObject({
  role,
  to: subjectIdSchema,
  /** Milliseconds since 1970. */
  until: z.int(),
  reason: z.string().max(1000).optional(),
})
export type NewDelegation = z.infer<typeof newDelegationSchema>

export const delegationSchema = z.strictObject({
  delegation: delegationIdSchema,
  role,
  from: subjectIdSchema,
  to: subjectIdSchema,
  until: z.number(),
  reason: z.string(),
  createdAt: z.number(),
  revokedAt: z.number().nullable(),
})
export type Delegation = z.infer<typeof delegationSchema>
