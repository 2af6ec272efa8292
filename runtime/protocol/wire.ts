import * as z from 'zod'
import {digestSchema, inboxItemSchema} from './approval.ts'
import {delegationSchema} from './delegation.ts'
import {purgeOrderSchema, redactionOrderSchema} from './erasure.ts'
import {errorBodySchema} from './errors.ts'
import {loggedEnvelopeSchema} from './event.ts'
import {deviceIdSchema, eventIdSchema, operationIdSchema, sessionIdSchema, subjectIdSchema} from './ids.ts'
import {approverKeySchema} from './intent.ts'
import {jsonSchema} from './json.ts'
import {pinnedVersionSchema} from './pin.ts'
import {nameSchema} from './text.ts'
import {limits} from './version.ts'

/**
 * The protocol between device and server. Every request carries `authorization: Bearer …` or a cookie, and
 * `holdfast-protocol: 1`. `GET /v1/openapi.json` describes every route with its schemas as OpenAPI 3.1.
 *
 *   device                                        server
 *     │ GET  /v1/me ────────────────────────────────▶ {tenant, subject} of the caller, the first request of each
 *     │                                               connection. Later requests name them in `holdfast-person`, and
 *     │                                               one with another person's token gets `other_person` [ID-6]
 *     │ POST /v1/sessions/:id/events {events} ──────▶ locks the session's row, decides each event with the same
 *     │ ◀──── {verdicts, head}                        code as the device, gives the accepted ones their seq [SYNC-1]
 *     │ GET  /v1/sessions/:id/events?after=seq ─────▶ a page of confirmed events, oldest first; repeat while `more`
 *     │ PUT, GET /v1/sessions/:id/blobs/:blob ──────▶ the bytes of a blob, put before the event that names it; where
 *     │                                               there is no room the event is taken without them [LOG-5]
 *     │ GET  /v1/sessions?device=id ────────────────▶ the subject's sessions with their heads, and what this device
 *     │                                               has to purge or redact; confirmed by
 *     │                                               POST /v1/erasures/purged [RET-3]
 *     │ POST /v1/erasures, GET /v1/erasures/:id ────▶ erase a session or a subject; what is done and outstanding
 *     │ GET  /v1/live (text/event-stream) ──────────▶ one per device: pokes that something moved, never the truth.
 *     │ ◀──── event: head  {session, head}            The device pulls what it lacks; a lost poke costs time only,
 *     │ ◀──── event: inbox {}                         because every (re)connect starts with `hello` and a pull.
 *     │ ◀──── event: agents {}                        something was published or made active in the registry
 *     │ ◀──── event: fact  {key}                      The server closes the stream when its token expires.
 *     │ ◀──── event: erased {}                        List the sessions again: something is to be purged.
 *     │ GET  /v1/facts/:key ────────────────────────▶ the fact and its version; 404 for a key of no kind
 *     │ POST /v1/facts {keys, known?} ──────────────▶ several at once; what is as the device knows it is not sent again
 *     │ POST /v1/sessions/:id/custody ──────────────▶ compare and set of the epoch [CUS-1]
 *     │ GET  /v1/approvals?status=open|all ─────────▶ the approver's inbox
 *     │ POST /v1/approvals/:id/decision ────────────▶ {verdict, digest, note?}
 *     │ POST /v1/approvals/:id/redemption ──────────▶ {intent, signature}: a decision signed while offline [APP-4]
 *     │ GET, POST /v1/approver-keys, POST …/:key/revocation ▶ the public keys that intents are checked with
 *     │ GET, POST /v1/delegations, POST …/:id/revocation ▶ a role lent to somebody until a time
 *     │ POST /v1/operations/:id/verdict ────────────▶ a person's word on an operation that is uncertain [OP-4]
 *     │ GET  /v1/runs/:id/passport ─────────────────▶ what run this is, from records alone
 *     │ GET  /v1/runs/:id/export ───────────────────▶ the run as one file, to be checked by `checkRunExport`
 *     │ POST /v1/runs/:id/cancel, …/retry {event} ──▶ the same that a person does on a device, for one without
 *     │ POST /v1/runs/:id/wake ─────────────────────▶ {note?}: wakes a run that sleeps
 *     │ GET  /v1/sessions/:id/effects?after=seq ────▶ effects after an event, which a branch there does not undo
 *     │ GET  /v1/agents ────────────────────────────▶ every agent's versions, and the one that new runs take
 *     │ POST /v1/agents/:name/versions ─────────────▶ publishes a manifest, once and for all
 *     │ POST /v1/agents/:name/active ───────────────▶ {version}: new runs take it, runs under way do not [PIN-2]
 *     │ GET  /v1/models, POST /v1/models/:name/stream ▶ the model gateway: keys stay on the server. A call with a name is
 *     │ ◀──── id: n, data: part                       made once: asked again, or GET /v1/models/streams/:key?after=n,
 *     │                                               its parts come again, and nothing is paid twice [CUS-5]
 *     │ GET  /v1/usage ─────────────────────────────▶ what models took, and what came of it
 *
 * `memory-wire.ts` describes the routes of memory.
 *
 * Devices ignore fields that they do not know in answers and frames, and keep them in logged events. The server refuses
 * unknown fields of requests: with `version_mismatch` when `holdfast-revision` says that the device is newer, so that it
 * keeps what it has and tries again, and with `bad_input` otherwise. [LOG-8]
 *
 * Nothing depends on the live stream: events are pushed as they are written, and a device that gets no pokes polls its
 * list of sessions with back-off. `?bytes=` bounds a page; `?for=` ends a generation's response after that many
 * milliseconds. [SYNC-8]
 *
 * A response that is lost after the server committed is harmless: when the same batch is sent again, each event gets
 * `duplicate` with its first seq. [LOG-3, SYNC-4]
 */
export const pushSchema = z.strictObject({
  events: z
    .array(z.unknown())
    .min(1)
    .max(limits.batchEvents, `expected at most ${limits.batchEvents} events in a batch`),
})

export const verdictSchema = z.discriminatedUnion('status', [
  z.strictObject({status: z.literal('accepted'), id: eventIdSchema, seq: z.int().positive()}),
  z.strictObject({status: z.literal('duplicate'), id: eventIdSchema, seq: z.int().positive()}),
  z.strictObject({status: z.literal('rejected'), id: z.string(), error: errorBodySchema}),
])
export type EventVerdict = z.infer<typeof verdictSchema>

/** `error.details.clash` of an event whose number the same device has given to another one; it may be numbered anew. */
export const deviceSeqClash = 'device_seq'

export const pushAnswerSchema = z.strictObject({verdicts: z.array(verdictSchema), head: z.int().nonnegative()})
export type PushAnswer = z.infer<typeof pushAnswerSchema>

/** Envelopes, not events: a kind that this build does not know must arrive and be kept. [LOG-4] */
export const pageSchema = z.strictObject({
  events: z.array(loggedEnvelopeSchema),
  head: z.int().nonnegative(),
  more: z.boolean(),
})
export type Page = z.infer<typeof pageSchema>

export const sessionSummarySchema = z.strictObject({
  id: sessionIdSchema,
  agent: z.string(),
  title: z.string().nullable(),
  head: z.int().nonnegative(),
  createdAt: z.number(),
  updatedAt: z.number(),
})
export type SessionSummary = z.infer<typeof sessionSummarySchema>
/**
 * `erased` lists what the device of the query has not purged yet. `redactions` lists words of others that it has not
 * removed yet; earlier servers send none. [RET-3]
 */
export const sessionListSchema = z.strictObject({
  sessions: z.array(sessionSummarySchema),
  erased: z.array(purgeOrderSchema),
  redactions: z.array(redactionOrderSchema).optional(),
})
export type SessionList = z.infer<typeof sessionListSchema>

export const claimSchema = z.strictObject({
  device: deviceIdSchema,
  sawEpoch: z.int().nonnegative(),
  /** Hands custody to this device instead. It must have written in the session. [CUS-3] */
  to: deviceIdSchema.optional(),
  /** Grant only if no run is active, so that a working holder is not interrupted. [CUS-3] */
  idle: z.literal(true).optional(),
})

/** Custody after a granted claim. A late claim is answered with `stale_epoch`. */
export const custodyAnswerSchema = z.strictObject({
  holder: deviceIdSchema,
  epoch: z.int().positive(),
  head: z.int().nonnegative(),
})
export type CustodyAnswer = z.infer<typeof custodyAnswerSchema>

/** An operation whose outcome nobody knows, as it is shown to whoever may say what happened. [OP-4] */
export const uncertainItemSchema = z.strictObject({
  operation: operationIdSchema,
  session: z.string(),
  run: z.string(),
  requestedBy: subjectIdSchema,
  role: z.string(),
  digest: digestSchema,
  shown: z.strictObject({tool: z.string(), version: z.string(), input: jsonSchema}),
  reason: z.string(),
  uncertainSince: z.number(),
})
export type UncertainItem = z.infer<typeof uncertainItemSchema>
/** Cancel and retry without a device; `event` makes a repeat harmless. [CUS-5] */
export const runCommandSchema = z.strictObject({event: eventIdSchema, reason: z.string().max(500).optional()})
export const runCommandAnswerSchema = z.strictObject({session: sessionIdSchema, seq: z.int().positive()})

/** A decision is answered with the one item as it then stands. */
export const inboxSchema = z.strictObject({
  approvals: z.array(inboxItemSchema),
  uncertain: z.array(uncertainItemSchema),
})
export type Inbox = z.infer<typeof inboxSchema>

/** What a person says of an uncertain operation; the digest is that of what was on the screen. */
export const settlementSchema = z.discriminatedUnion('happened', [
  z.strictObject({happened: z.literal(true), digest: digestSchema, receipt: z.string().min(1).max(2000)}),
  z.strictObject({happened: z.literal(false), digest: digestSchema, reason: z.string().min(1).max(1000)}),
])
export type Settlement = z.infer<typeof settlementSchema>
export const settledSchema = z.strictObject({operation: operationIdSchema, status: z.enum(['executed', 'failed'])})
export type Settled = z.infer<typeof settledSchema>

export const delegationListSchema = z.strictObject({delegations: z.array(delegationSchema)})
export const approverKeyListSchema = z.strictObject({keys: z.array(approverKeySchema)})

/** What is published of an agent's version, and can never be changed under that version again. */
export const agentManifestSchema = pinnedVersionSchema.omit({model: true}).extend({version: nameSchema(50)})
export type AgentManifest = z.infer<typeof agentManifestSchema>

export const agentNameSchema = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'expected the name of an agent')
export const activationSchema = z.strictObject({version: agentManifestSchema.shape.version})
export const wakeSchema = z.strictObject({note: z.string().max(500).optional()})

export const agentListingSchema = z.strictObject({
  name: agentNameSchema,
  /** The version that new runs take; null until one was made active. */
  active: z.string().nullable(),
  versions: z.array(agentManifestSchema.extend({publishedAt: z.number()})),
})
export type AgentListing = z.infer<typeof agentListingSchema>
export const agentListSchema = z.strictObject({agents: z.array(agentListingSchema)})

/** Every answer that is not 2xx. */
export const errorAnswerSchema = z.strictObject({error: errorBodySchema})

export const liveMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({type: z.literal('hello')}),
  z.strictObject({type: z.literal('head'), session: sessionIdSchema, head: z.int()}),
  z.strictObject({type: z.literal('inbox')}),
  z.strictObject({type: z.literal('fact'), key: z.string()}),
  z.strictObject({type: z.literal('agents')}),
  z.strictObject({type: z.literal('memory')}),
  z.strictObject({type: z.literal('erased')}),
  z.strictObject({type: z.literal('expired')}),
])
export type LiveMessage = z.infer<typeof liveMessageSchema>

export const modelListSchema = z.strictObject({
  models: z.array(z.strictObject({name: z.string(), provider: z.string()})),
})

export {factsAnswerSchema, factsRequestSchema} from './fact.ts'
export {modelCallSchema, modelFailureSchema} from './model-call.ts'
export {personSchema as meAnswerSchema} from './person.ts'
export {usageAnswerSchema} from './usage.ts'

/** Header that every request and answer carries. */
export const protocolHeader = 'holdfast-protocol'

/** Header with the `wireRevision` of its sender, on every request and answer; absent, it is 1. */
export const revisionHeader = 'holdfast-revision'
