import * as z from 'zod'
import {deviceIdSchema, erasureIdSchema, operationIdSchema, sessionIdSchema, subjectIdSchema} from './ids.ts'

/**
 * What to erase: one session, or everything of a subject. Branches of an erased session keep their own words and lose
 * what they inherited, or go too; a branch that work done apart from it was kept as is a copy of it, and always goes. What was derived from it outlives a session unless asked for; of a whole subject
 * nothing is left but receipts, audit and tombstones. [RET-2, RET-4]
 */
export const erasureRequestSchema = z.union([
  z.strictObject({
    session: sessionIdSchema,
    branches: z.enum(['keep', 'erase']).default('keep'),
    memory: z.boolean().default(false),
  }),
  z.strictObject({subject: subjectIdSchema}),
])
export type ErasureRequest = z.infer<typeof erasureRequestSchema>

/**
 * What an erasure has removed and what is still outstanding. [RET-2]
 *
 * - `erasing`: layers are still being removed.
 * - `waiting`: the server is done, but a device has not come back, an effect has not ended, or database files still
 * hold erased rows.
 * - `complete`: nothing is outstanding.
 */
export const erasureReceiptSchema = z.strictObject({
  erasure: erasureIdSchema,
  subject: subjectIdSchema,
  /** Null when the whole subject was erased. */
  session: sessionIdSchema.nullable(),
  /** Null when its retention was over. */
  requestedBy: subjectIdSchema.nullable(),
  status: z.enum(['erasing', 'waiting', 'complete']),
  requestedAt: z.number(),
  completedAt: z.number().nullable(),
  /** How many records each layer lost, and what it keeps and why. */
  layers: z.array(z.strictObject({name: z.string(), removed: z.int().nonnegative(), kept: z.string().nullable()})),
  outstanding: z.strictObject({
    /** Devices that have not confirmed yet. `lastSeenAt` is 0 for a device of another subject. */
    devices: z.array(z.strictObject({device: deviceIdSchema, lastSeenAt: z.number()})),
    /** Operations that have not ended. Their input is kept to find out how they ended. */
    operations: z.array(operationIdSchema),
    /** The files of the server's database (tables, write-ahead log, backups) may still hold erased rows. */
    files: z.boolean(),
    /**
     * Present while `files` is true. `until`: when the operator states that the files are gone (milliseconds since
     * 1970); null if not stated.
     */
    filesWait: z.strictObject({reason: z.string(), until: z.number().nullable()}).optional(),
  }),
})
export type ErasureReceipt = z.infer<typeof erasureReceiptSchema>

/** What a device is told to purge; no sessions are named when it is everything of the subject. [RET-3] */
export const purgeOrderSchema = z.strictObject({
  erasure: erasureIdSchema,
  whole: z.boolean(),
  sessions: z.array(sessionIdSchema),
  at: z.number(),
  why: z.enum(['requested', 'retention']),
})
export type PurgeOrder = z.infer<typeof purgeOrderSchema>

/**
 * Names sessions that hold words of an erased subject about operations. The device removes the words from them and
 * confirms it like a purge. The receipt of the erasure waits for it. [RET-2]
 */
export const redactionOrderSchema = z.strictObject({
  erasure: erasureIdSchema,
  /** Whose words are to be removed. */
  saidBy: subjectIdSchema,
  sessions: z.array(sessionIdSchema),
})
export type RedactionOrder = z.infer<typeof redactionOrderSchema>

/** A device says that it has purged; saying it again changes nothing. */
export const purgedSchema = z.strictObject({
  device: deviceIdSchema,
  erasures: z.array(erasureIdSchema).min(1).max(1000),
})

/** What a person reads in the place of an erased session; what nobody else had is said, never dropped in silence. */
export function erasedSentence({why, unsent}: {why: PurgeOrder['why']; unsent: number}): string {
  const reason =
    why === 'requested'
      ? 'This conversation was erased on request.'
      : 'This conversation was erased: its time was over.'
  if (unsent === 0) return reason
  const messages = unsent === 1 ? 'One message that had' : `${unsent} messages that had`
  return `${reason} ${messages} not reached the server went with it.`
}
