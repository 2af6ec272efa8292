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
/** Only the fields that the outbox indexes by. The log's schema validates the rest when the event is restored. */
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

/** One record of the outbox. A record that this build cannot parse is skipped. */
export const outboxRecordSchema = z.discriminatedUnion('type', [
  /** The device and its owner. The last record wins. */
  z.object({
    type: z.literal('device'),
    device: deviceIdSchema,
    online: z.boolean(),
    owner: z.object({tenant: tenantIdSchema.nullable(), subject: subjectIdSchema}).nullable(),
  }),
  /** Events of one append, and the confirmed head that they were based on. */
  z.object({type: z.literal('events'), session: sessionIdSchema, head: count, events: z.array(storedEventSchema)}),
  z.object({type: z.literal('blob'), session: sessionIdSchema, id: blobIdSchema, bytes: z.base64()}),
  z.object({type: z.literal('blob_sent'), session: sessionIdSchema, id: blobIdSchema}),
  /** The server accepted these events, and the device has all events up to `head`. */
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
  /** Discards all previous records of this session. */
  z.object({type: z.literal('dropped'), session: sessionIdSchema}),
  z.object({type: z.literal('memory_change'), change: changeSchema}),
  z.object({type: z.literal('memory_change_dropped'), id: memoryChangeIdSchema}),
  z.object({type: z.literal('memory_proposals'), proposals: z.array(memoryProposalSchema)}),
  z.object({type: z.literal('memory_proposals_dropped'), ids: z.array(memoryIdSchema)}),
  /** A recovery report, shown to the person until it is dismissed. */
  z.object({type: z.literal('recovery'), recovery: recoverySchema, dismissed: z.boolean()}),
])
export type OutboxRecord = z.infer<typeof outboxRecordSchema>
export type StoredEvent = z.infer<typeof storedEventSchema>
export type Refusal = z.infer<typeof refusalSchema>

const [encoder, decoder] = [new TextEncoder(), new TextDecoder('utf-8', {fatal: true, ignoreBOM: true})]

export function encodeRecord(record: OutboxRecord): Uint8Array {
  return encoder.encode(JSON.stringify(record))
}

/** Decodes a record. Returns null if this build cannot parse it. */
export function decodeRecord(bytes: Uint8Array): OutboxRecord | null {
  try {
    return outboxRecordSchema.parse(JSON.parse(decoder.decode(bytes)))
  } catch {
    return null
  }
}
