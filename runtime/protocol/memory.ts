import * as z from 'zod'
import {eventIdSchema, type MemoryId, memoryIdSchema, sessionIdSchema, subjectIdSchema} from './ids.ts'
import type {Refusal} from './refusal.ts'
import {limits} from './version.ts'

/**
 * What is known of a subject across sessions: the fourth lifetime, beside connection, run and session. It is no event of
 * any session and is never replayed as one. [MEM-1, RUN-10]
 *
 *   proposed ──▶ accepted ──▶ corrected        (both in force)
 *      │             └──┬─────────┘
 *      ├▶ refused       ├▶ superseded          (a later item took its place)
 *      │                ├▶ expired
 *      └────────────────┴▶ forgotten           (from anywhere but refused; like refused, only the id is left)
 */
export const memoryKinds = ['fact', 'preference', 'instruction', 'episode'] as const
export const memoryKindSchema = z.enum(memoryKinds, `expected one of ${memoryKinds.join(', ')}`)
export type MemoryKind = z.infer<typeof memoryKindSchema>

export const memoryTextSchema = z
  .string()
  .max(limits.memoryCharacters, `expected at most ${limits.memoryCharacters} characters`)
  .refine(text => text.trim() !== '', 'expected a text that is not blank')

/** Names what an item is about, like `preference/refund-channel`; one item of a key is in force at a time. */
export const memoryKeySchema = z
  .string()
  .max(120, 'expected at most 120 characters')
  .regex(
    /^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*$/,
    'expected lower-case words joined by "/", like "preference/refund-channel"',
  )

/** The events that an item was made from: where it came from, for whoever asks. [MEM-2] */
export const memorySourceSchema = z.strictObject({
  session: sessionIdSchema,
  events: z.array(eventIdSchema).min(1, 'expected at least one event').max(50, 'expected at most 50 events'),
})
export type MemorySource = z.infer<typeof memorySourceSchema>

const confidenceSchema = z.number().min(0, 'expected a number from 0 to 1').max(1, 'expected a number from 0 to 1')
/** Milliseconds since 1970; null is without a bound. */
const momentSchema = z.int('expected whole milliseconds since 1970').nonnegative().nullable()

const contentShape = {
  text: memoryTextSchema,
  key: memoryKeySchema.nullable(),
  kind: memoryKindSchema,
  sources: z
    .array(memorySourceSchema)
    .min(1, 'expected the events that it was made from')
    .max(20, 'expected events of at most 20 sessions'),
  validFrom: momentSchema,
  /** From this moment on it is no longer true. */
  validUntil: momentSchema,
  confidence: confidenceSchema,
}

/** What an extractor proposes; the id is made on the device, so a proposal sent twice is one. [MEM-2, MEM-4] */
export const memoryProposalSchema = z
  .strictObject({
    id: memoryIdSchema,
    ...contentShape,
    /** The item in force that this one takes the place of, besides the one of the same key. */
    supersedes: memoryIdSchema.nullable(),
    /** Which extractor made it. */
    extractor: z.string().min(1).max(100),
  })
  .refine(({validFrom, validUntil}) => validFrom === null || validUntil === null || validFrom < validUntil, {
    message: 'expected a moment after validFrom',
    path: ['validUntil'],
  })
export type MemoryProposal = z.infer<typeof memoryProposalSchema>

export const memoryAuthorSchema = z.discriminatedUnion('type', [
  z.strictObject({type: z.literal('extractor'), name: z.string().min(1).max(100)}),
  z.strictObject({type: z.literal('policy')}),
  z.strictObject({type: z.literal('person'), subject: subjectIdSchema}),
  z.strictObject({type: z.literal('clock')}),
])
export type MemoryAuthor = z.infer<typeof memoryAuthorSchema>

const recordStatuses = ['proposed', 'accepted', 'corrected', 'superseded', 'expired'] as const

export const memoryRevisionSchema = z.strictObject({
  did: z.enum(recordStatuses),
  /** Milliseconds on the clock of whoever recorded it: shown, never used to order. */
  at: z.number(),
  by: memoryAuthorSchema,
  why: z.string().max(500).nullable(),
  /** The words that a correction replaced. */
  was: memoryTextSchema.nullable(),
})
export type MemoryRevision = z.infer<typeof memoryRevisionSchema>

export const memoryRecordSchema = z.strictObject({
  id: memoryIdSchema,
  status: z.enum(recordStatuses),
  ...contentShape,
  supersedes: memoryIdSchema.nullable(),
  supersededBy: memoryIdSchema.nullable(),
  /** Counts every change; a correction names the one that was on the screen. */
  revision: z.int().positive(),
  /** The latest changes, oldest first. */
  history: z.array(memoryRevisionSchema),
  updatedAt: z.number(),
})
export type MemoryRecord = z.infer<typeof memoryRecordSchema>

/** All that is left of an item that was refused or forgotten: enough to know it when it comes again. [MEM-3] */
export const memoryTombstoneSchema = z.strictObject({
  id: memoryIdSchema,
  status: z.enum(['refused', 'forgotten']),
  updatedAt: z.number(),
})

export const memoryItemSchema = z.discriminatedUnion('status', [memoryRecordSchema, memoryTombstoneSchema])
export type MemoryItem = z.infer<typeof memoryItemSchema>
export type MemoryStatus = MemoryItem['status']

/** A change may be taken back for at most this long, milliseconds. */
export const longestUndoMs = 60_000

/** What a person may do to an item; said again, each changes nothing more. */
export const memoryChangeSchema = z.discriminatedUnion('do', [
  z.strictObject({do: z.literal('accept')}),
  z.strictObject({
    do: z.literal('correct'),
    text: memoryTextSchema,
    /** Of the item as it was on the screen. */
    revision: z.int('expected the revision that was shown').positive('expected the revision that was shown'),
  }),
  z.strictObject({do: z.literal('forget')}),
])
export type MemoryChange = z.infer<typeof memoryChangeSchema>

/** A person's change, or what only the memory service itself does. */
export type MemoryCommand = MemoryChange | {do: 'refuse'} | {do: 'supersede'; by: MemoryId} | {do: 'expire'}

/** Who did it, when, and why. */
export type MemoryAct = {at: number; by: MemoryAuthor; why?: string}

export function isRecord(item: MemoryItem): item is MemoryRecord {
  return item.status !== 'refused' && item.status !== 'forgotten'
}

export function isInForce(item: MemoryItem): item is MemoryRecord {
  return item.status === 'accepted' || item.status === 'corrected'
}

/** The only items that a recall may return. [MEM-3] */
export function isValidAt(item: MemoryItem, now: number): item is MemoryRecord {
  if (!isInForce(item)) return false
  return (item.validFrom === null || item.validFrom <= now) && (item.validUntil === null || now < item.validUntil)
}

/** Which statuses each command needs; anything else is refused by name. */
export const memoryTransitions: Record<MemoryCommand['do'], readonly MemoryStatus[]> = {
  accept: ['proposed'],
  refuse: ['proposed'],
  correct: ['accepted', 'corrected'],
  supersede: ['accepted', 'corrected'],
  expire: ['accepted', 'corrected'],
  forget: ['proposed', 'accepted', 'corrected', 'superseded', 'expired'],
}

const personal: readonly MemoryCommand['do'][] = ['accept', 'correct', 'forget']

/** Who may give a command: its subject, or the service by the application's policy, a later item or the clock. */
export function memoryOwner(command: MemoryCommand['do']): Refusal['owner'] {
  return personal.includes(command) ? 'user' : 'memory service'
}

/** `repeat`: the item is as the command wants it already, so nothing is left to do. */
export type MemoryVerdict = {refusal: Refusal} | {refusal: null; repeat: boolean}

/** Whether an item may be changed so. Pure: device and server decide with the same code. */
export function decideMemory(item: MemoryItem, command: MemoryCommand): MemoryVerdict {
  if (isAsWanted(item, command)) return {refusal: null, repeat: true}
  if (!memoryTransitions[command.do].includes(item.status)) return {refusal: notNow(item, command)}
  if (command.do === 'correct' && isRecord(item) && command.revision !== item.revision) {
    return {refusal: movedOn(item, command.revision)}
  }
  return {refusal: null, repeat: false}
}

function isAsWanted(item: MemoryItem, command: MemoryCommand): boolean {
  switch (command.do) {
    case 'accept':
      return isInForce(item)
    case 'correct':
      return isInForce(item) && item.text === command.text
    case 'supersede':
      return item.status === 'superseded'
    case 'expire':
      return item.status === 'expired'
    case 'refuse':
      return item.status === 'refused'
    case 'forget':
      return !isRecord(item)
  }
}

function notNow(item: MemoryItem, command: MemoryCommand): Refusal {
  const legal = personal.filter(name => memoryTransitions[name].includes(item.status))
  const owner = memoryOwner(command.do)
  return {code: 'refused', asked: `to ${command.do} a memory`, met: `one that is ${item.status}`, owner, legal}
}

function movedOn(item: MemoryRecord, saw: number): Refusal {
  return {
    code: 'conflict',
    asked: `to correct revision ${saw} of a memory`,
    met: `revision ${item.revision}`,
    owner: 'user',
    legal: ['look at it again and correct what it says now'],
  }
}

/** More changes than this to one item are kept as a count only. */
const keptRevisions = 20

export function proposedMemory(proposal: MemoryProposal, at: number): MemoryRecord {
  const {extractor, ...content} = proposal
  const first: MemoryRevision = {did: 'proposed', at, by: {type: 'extractor', name: extractor}, why: null, was: null}
  return {...content, status: 'proposed', supersededBy: null, revision: 1, history: [first], updatedAt: at}
}

/** The item after a command that `decideMemory` allowed; a tombstone stays what it is. */
export function evolveMemory(item: MemoryItem, command: MemoryCommand, act: MemoryAct): MemoryItem {
  if (!isRecord(item)) return item
  switch (command.do) {
    case 'accept':
      return revised(item, act, {status: 'accepted'})
    case 'correct':
      return revised(item, act, {status: 'corrected', text: command.text})
    case 'supersede':
      return revised(item, act, {status: 'superseded', supersededBy: command.by})
    case 'expire':
      return revised(item, act, {status: 'expired'})
    case 'refuse':
      return {id: item.id, status: 'refused', updatedAt: act.at}
    case 'forget':
      return {id: item.id, status: 'forgotten', updatedAt: act.at}
  }
}

/** What a record said at one of its revisions; null when that is no longer known. */
export function textAt({text, revision, history}: MemoryRecord, at: number): string | null {
  if (at > revision) return null
  // The last entry of the history made this revision, the one before it the revision before, and so on.
  const since = history.slice(Math.max(0, history.length - (revision - at)))
  if (since.length < revision - at) return null
  return since.find(({was}) => was !== null)?.was ?? text
}

function revised(
  item: MemoryRecord,
  {at, by, why}: MemoryAct,
  over: Partial<MemoryRecord> & Pick<MemoryRecord, 'status'>,
): MemoryRecord {
  const was = over.text === undefined ? null : item.text
  const history = [...item.history, {did: over.status, at, by, why: why ?? null, was}].slice(-keptRevisions)
  return {...item, ...over, revision: item.revision + 1, history, updatedAt: at}
}
