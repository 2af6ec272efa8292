import * as z from 'zod'
import {blobIdSchema} from '../../protocol/blob.ts'
import {divergenceChoices} from '../../protocol/divergence.ts'
import {
  deviceIdSchema,
  eventIdSchema,
  memoryChangeIdSchema,
  memoryIdSchema,
  sessionIdSchema,
  subjectIdSchema,
  tenantIdSchema,
} from '../../protocol/ids.ts'
import {memoryChangeSchema, memoryProposalSchema} from '../../protocol/memory.ts'
import {recoverySchema} from '../../protocol/recovery.ts'

const count = z.int().min(0)
/** Read with the log's own schema when they are put back; here only what they are found by. */
const storedEventSchema = z.looseObject({
  id: eventIdSchema,
  session: sessionIdSchema,
  deviceSeq: count.nullish(),
  kind: z.string(),
})
const refusalSchema = z.object({
  reason: z.string(),
  head: count,
  divergence: z.object({id: eventIdSchema, base: count}).nullable(),
})
const changeSchema = z.object({
  id: memoryChangeIdSchema,
  item: memoryIdSchema,
  change: memoryChangeSchema,
  notBefore: z.number(),
  refused: z.string().nullable(),
})

/** What an outbox holds, one record a write. A record that this build does not know is ignored. */
export const outboxRecordSchema = z.discriminatedUnion('type', [
  /** Whose outbox it is. The last one counts. */
  z.object({
    type: z.literal('device'),
    device: deviceIdSchema,
    online: z.boolean(),
    owner: z.object({tenant: tenantIdSchema.nullable(), subject: subjectIdSchema}).nullable(),
  }),
  /** Events of one append, with the head on which they were written. */
  z.object({type: z.literal('events'), session: sessionIdSchema, head: count, events: z.array(storedEventSchema)}),
  z.object({type: z.literal('blob'), session: sessionIdSchema, id: blobIdSchema, bytes: z.base64()}),
  z.object({type: z.literal('blob_sent'), session: sessionIdSchema, id: blobIdSchema}),
  /** The server has these events, and the device everything up to `head`. */
  z.object({
    type: z.literal('confirmed'),
    session: sessionIdSchema,
    head: count,
    deviceSeq: count,
    events: z.array(eventIdSchema),
  }),
  z.object({
    type: z.literal('refused'),
    session: sessionIdSchema,
    events: z.array(eventIdSchema),
    ...refusalSchema.shape,
  }),
  z.object({
    type: z.literal('resolved'),
    divergence: eventIdSchema,
    resolution: z
      .object({choice: z.enum(divergenceChoices), fork: sessionIdSchema.nullable(), at: z.number()})
      .nullable(),
  }),
  /** Nothing of this session is kept from here on. */
  z.object({type: z.literal('dropped'), session: sessionIdSchema}),
  z.object({type: z.literal('memory_change'), change: changeSchema}),
  z.object({type: z.literal('memory_change_dropped'), id: memoryChangeIdSchema}),
  z.object({type: z.literal('memory_proposals'), proposals: z.array(memoryProposalSchema)}),
  z.object({type: z.literal('memory_proposals_dropped'), ids: z.array(memoryIdSchema)}),
  /** What the person has to be told, until it is dismissed. */
  z.object({type: z.literal('recovery'), recovery: recoverySchema, dismissed: z.boolean()}),
])
export type OutboxRecord = z.infer<typeof outboxRecordSchema>
export type StoredEvent = z.infer<typeof storedEventSchema>
export type Refusal = z.infer<typeof refusalSchema>

const [encoder, decoder] = [new TextEncoder(), new TextDecoder('utf-8', {fatal: true, ignoreBOM: true})]

export function encodeRecord(record: OutboxRecord): Uint8Array {
  return encoder.encode(JSON.stringify(record))
}

/** Null for what this build cannot read. */
export function decodeRecord(bytes: Uint8Array): OutboxRecord | null {
  try {
    return outboxRecordSchema.parse(JSON.parse(decoder.decode(bytes)))
  } catch {
    return null
  }
}
