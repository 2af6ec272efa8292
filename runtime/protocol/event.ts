import * as z from 'zod'
import {approvalKinds} from './approval.ts'
import {compactionKinds} from './compaction.ts'
import {custodyKinds, custodyPersonKinds} from './custody.ts'
import {documentKinds} from './document.ts'
import {badInput, HoldfastError} from './errors.ts'
import {deviceIdSchema, eventIdSchema, runIdSchema, sessionIdSchema, stepIdSchema, subjectIdSchema} from './ids.ts'
import {eventDataSchema, type Json, jsonBytes} from './json.ts'
import {operationKinds, proposalKinds} from './operation.ts'
import {runKinds} from './run.ts'
import {sessionKinds} from './session.ts'
import {slotKinds} from './slots.ts'
import {parseTolerant} from './tolerant.ts'
import {upcastPin} from './upcast-pin.ts'
import {limits} from './version.ts'

/**
 * Who may write what. Person events come from any device of the subject and need no custody; run events come from the
 * custody holder and carry its epoch; server events are never accepted from a device.
 */
export const custodianKinds = {...runKinds, ...slotKinds, ...compactionKinds, ...proposalKinds}
export const personKinds = {...sessionKinds, ...documentKinds, ...custodyPersonKinds}
export const serverKinds = {...custodyKinds, ...operationKinds, ...approvalKinds}

const kinds = {...personKinds, ...custodianKinds, ...serverKinds}
export type Kinds = typeof kinds
export type Kind = keyof Kinds
export type ServerKind = keyof typeof serverKinds
export type CustodianKind = keyof typeof custodianKinds
export type DeviceKind = Exclude<Kind, ServerKind>
export type DataOf<K extends Kind> = z.infer<Kinds[K]>

export const actorSchema = z.discriminatedUnion('type', [
  z.strictObject({type: z.literal('person'), subject: subjectIdSchema}),
  z.strictObject({type: z.literal('agent'), name: z.string().min(1).max(100)}),
  z.strictObject({type: z.literal('service'), name: z.enum(['custody', 'operations', 'approvals', 'control'])}),
])
export type Actor = z.infer<typeof actorSchema>

/**
 * The version in which a kind's data is written; a higher one in the log is kept and shown as unreadable. [LOG-4, LOG-8]
 * 2 of `step.prepared`: its view may go on from that of an earlier step. What 1 wrote is read as it stands.
 */
export function versionOf(kind: Kind): number {
  return kind === 'step.prepared' ? 2 : 1
}

export const envelopeSchema = z.strictObject({
  id: eventIdSchema,
  session: sessionIdSchema,
  /** Given by the server, gapless per session; null while the event is only on its device. [LOG-2] */
  seq: z.int().positive().nullable(),
  /** Null on server events. */
  device: deviceIdSchema.nullable(),
  /** Counts up per device and session; orders what is pending. */
  deviceSeq: z.int().positive().nullable(),
  kind: z.string().regex(/^[a-z]+(\.[a-z_]+)+$/, 'expected a dotted lower-case kind like "message.posted"'),
  data: eventDataSchema,
  actor: actorSchema,
  run: runIdSchema.optional(),
  step: stepIdSchema.optional(),
  attempt: z.int().positive().optional(),
  epoch: z.int().positive().optional(),
  /** On an event of a device: the event, of another session, that it is a copy of; erasing that session finds it so. */
  causes: z.array(eventIdSchema).max(50).optional(),
  /** Milliseconds since 1970 on the author's clock: shown, never used to order. */
  at: z.number(),
  /** On events of a run: milliseconds that the holder has worked for the run since its previous event. [BUD-3] */
  workMs: z.int().nonnegative().optional(),
  v: z.int().positive(),
})
export type Envelope = z.infer<typeof envelopeSchema>

/** An envelope in the log. A newer build may have given it further fields, which are kept. [LOG-8] */
export const loggedEnvelopeSchema: z.ZodType<Envelope> = envelopeSchema.loose()

export type EventOf<K extends Kind> = K extends Kind
  ? Omit<Envelope, 'kind' | 'data'> & {kind: K; data: DataOf<K>}
  : never
export type Event = EventOf<Kind>

/** An event whose kind or version this build does not know: kept byte for byte, shown, and it stops the run. [LOG-4] */
export type UnreadableEvent = Envelope & {unreadable: string}
export type LoggedEvent = Event | UnreadableEvent

export function isReadable(event: LoggedEvent): event is Event {
  return !('unreadable' in event)
}

/** What an author supplies; the log adds identity, order and time. */
export type Draft<K extends Kind = Kind> = K extends Kind
  ? {kind: K; data: DataOf<K>} & Partial<
      Pick<Envelope, 'id' | 'run' | 'step' | 'attempt' | 'epoch' | 'causes' | 'workMs'>
    >
  : never

export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(kinds, kind)
}

export function isServerKind(kind: string): kind is ServerKind {
  return Object.hasOwn(serverKinds, kind)
}

export function isCustodianKind(kind: string): kind is CustodianKind {
  return Object.hasOwn(custodianKinds, kind)
}

/** Converts the data of an event that an earlier build wrote. [LOG-8] */
function upcastEvent(event: Envelope): Envelope {
  const data: unknown = event.data
  if (event.kind !== 'run.started' || typeof data !== 'object' || data === null || !('pin' in data)) return event
  const pin = upcastPin(data.pin)
  return pin === data.pin ? event : {...event, data: {...data, pin} as Envelope['data']}
}

/**
 * Parses one event that an author sends: every field must be known. [LOG-4]
 *
 * @throws HoldfastError `bad_input` naming the field, `too_large` over 256 KiB
 * @example
 * const event = readEvent(JSON.parse(line))
 * if (!isReadable(event)) console.warn(event.unreadable)
 */
export function readEvent(value: unknown): LoggedEvent {
  return eventOf(value, {envelope: envelopeSchema, check: (schema, data) => schema.safeParse(data)})
}

/**
 * Parses one event of the log: a page, a stored row, an export. Fields that a newer build has added are kept and have no
 * effect here; what must not be ignored has a higher `v`. [LOG-4, LOG-8]
 *
 * @throws HoldfastError like `readEvent`
 */
export function readLoggedEvent(value: unknown): LoggedEvent {
  return eventOf(value, {envelope: loggedEnvelopeSchema, check: parseTolerant})
}

type Reading = {
  envelope: z.ZodType<Envelope>
  check(schema: z.ZodType, data: unknown): z.ZodSafeParseResult<unknown>
}

function eventOf(value: unknown, reading: Reading): LoggedEvent {
  const envelope = reading.envelope.safeParse(value)
  if (!envelope.success) throw badInput('event', envelope.error)
  const event = upcastEvent(envelope.data)
  const bytes = jsonBytes(event)
  if (bytes > limits.eventBytes) {
    throw new HoldfastError('too_large', `event: ${bytes} bytes, at most ${limits.eventBytes} are taken`, {
      details: {field: 'data', bytes, limit: limits.eventBytes},
    })
  }
  if (!isKind(event.kind)) return {...event, unreadable: `kind "${event.kind}" is not known to this version`}
  const known = versionOf(event.kind)
  if (event.v > known) return {...event, unreadable: `version ${event.v} of "${event.kind}" is newer than ${known}`}
  const data = reading.check(kinds[event.kind], event.data)
  if (!data.success) throw badInput(`event(${event.kind}).data`, data.error)
  return event as Event
}

/** The part of an event that may never differ between two deliveries of one id. [LOG-3] */
export function eventContent(event: Envelope | Event): Json {
  const {seq: _seq, ...content} = event
  return content as Json
}
