import type {BlobRef} from './blob.ts'
import type {DataOf, LoggedEvent} from './event.ts'
import type {ErasureId, EventId, RunId, StepId} from './ids.ts'
import type {Json} from './json.ts'
import type {OperationStatus} from './operation.ts'
import {flawWords} from './reply-flaw.ts'

/** Where an event is safe: only here, or with the server too; or refused by the server and kept here. [SYNC-5] */
export type Durability = {status: 'device'} | {status: 'server'; seq: number} | Refused
/** `divergence` names the work that it was set aside with, when custody had moved on. [CUS-4] */
type Refused = {status: 'rejected'; reason: string; divergence?: EventId}
export type DurableEvent = {event: LoggedEvent; durability: Durability}

type Base = {
  id: EventId
  at: number
  durability: Durability
  /** Length of the whole text in characters, present when the text here is cut. */
  cut?: number
}

export type ToolEntry = Base & {
  type: 'tool'
  call: string
  tool: string
  input: Json
  /** The call's own result; null while there is none. */
  result: {outcome: 'ok' | 'error' | 'denied' | 'aborted' | 'superseded'; output: Json; blobs?: BlobRef[]} | null
  /** Set when the call became an operation on the server. */
  operation: {
    id: string
    status: OperationStatus
    reason: string | null
    receipt: Json
    approval: {
      id: string
      role: string
      reason: string
      expiresAt: number
      digest: string
      /** How many people have to say yes, who has, and which role may decide as well by now. */
      approvers: number
      endorsedBy: string[]
      escalatedTo: string | null
    } | null
    decidedBy: string | null
    /** The person whose word the outcome is, where no system could tell. */
    settledBy: string | null
  } | null
}

export type NoticeEntry = Omit<Base, 'id'> & {
  /** An erasure has left no event to name. */
  id: EventId | ErasureId
  type: 'notice'
  /** Why the line is there; the page words it. */
  about:
    | 'forked'
    | 'cancelled'
    | 'failed'
    | 'retried'
    | 'stopped_at_bound'
    | 'alerted'
    | 'extended'
    | 'slept'
    | 'woken'
    | 'migrated'
    | 'closed'
    | 'custody'
    | 'summarised'
    | 'unreadable'
    | 'erased'
    /** A reply was cut, withheld or empty. */
    | 'flawed_reply'
    /** A part of a reply that cannot be shown, such as a source. */
    | 'opaque'
    /** The provider refused the conversation as too long; the model now sees less of it. */
    | 'narrowed'
  text: string
  /** Details, shown on request. */
  detail?: string
}

/** One line of the conversation as a person reads it: folded from events, in their order, nothing left out. */
export type TranscriptEntry =
  | (Base & {type: 'message'; text: string; from: 'person'})
  /**
   * `step` names the model call, so that one can look at what the model saw. `blobs` is the whole text of a reply that is
   * too long for its event; read it with `session.blob(ref)`.
   */
  | (Base & {type: 'reply'; text: string; from: 'agent'; step: {run: RunId; id: StepId} | null; blobs?: BlobRef[]})
  | ToolEntry
  | NoticeEntry

/** Pure fold of events in log order into entries; feed it a whole log or a window that starts at a message. */
export function transcriptOf(events: readonly DurableEvent[]): TranscriptEntry[] {
  const entries: TranscriptEntry[] = []
  const calls = new Map<string, ToolEntry>()
  const operations = new Map<string, ToolEntry>()
  for (const durable of events) {
    const {event} = durable
    if (event.kind === 'operation.proposed' && !('unreadable' in event) && durable.durability.status !== 'rejected') {
      const card = calls.get(event.data.call)
      if (card) operations.set(event.data.operation, proposed(card, event.data.operation))
    } else if (!updateCard(durable, calls, operations)) {
      for (const entry of entriesOf(durable)) {
        entries.push(entry)
        if (entry.type === 'tool') calls.set(entry.call, entry)
      }
    }
  }
  return entries
}

const wokenWords: Record<DataOf<'run.woken'>['by'], string> = {
  time: 'Awake: the time has come.',
  message: 'Awake: a message arrived.',
  outside: 'Awake: woken from outside.',
}

/** Describes a provider-specific part of a reply to a person. */
function opaqueWords(kind: string): string {
  switch (kind) {
    case 'source':
    case 'citations':
      return 'The reply names its sources.'
    case 'file':
    case 'reasoning-file':
      return 'The reply holds a file, which is not shown here.'
    case 'tool-call':
    case 'tool-result':
      return 'The provider used a tool of its own.'
    case 'tool-approval-request':
      return 'The provider asks for approval of a tool of its own. Only tools of this application can be approved here.'
    default:
      return `The reply holds a part of the kind "${kind}", which is not shown here.`
  }
}

function proposed(card: ToolEntry, id: string): ToolEntry {
  card.operation = {
    id,
    status: 'proposed',
    reason: null,
    receipt: null,
    approval: null,
    decidedBy: null,
    settledBy: null,
  }
  return card
}

function entriesOf({event, durability}: DurableEvent): TranscriptEntry[] {
  const base = {id: event.id, at: event.at, durability}
  const notice = (about: NoticeEntry['about'], text: string): NoticeEntry[] => [{...base, type: 'notice', about, text}]
  if ('unreadable' in event) return notice('unreadable', event.unreadable)
  switch (event.kind) {
    case 'message.posted':
      return [{...base, type: 'message', from: 'person', text: event.data.text}]
    case 'model.replied': {
      const step = event.run && event.step ? {run: event.run, id: event.step} : null
      const flaw = flawWords(event.data)
      const {blobs} = event.data
      const entries = event.data.content.flatMap((part): TranscriptEntry[] => {
        if (part.type === 'text')
          return part.text
            ? [{...base, type: 'reply', from: 'agent', text: part.text, step, ...(blobs && {blobs})}]
            : []
        if (part.type === 'reasoning') return []
        if (part.type === 'opaque')
          return notice('opaque', opaqueWords(part.kind)).map(entry => ({...entry, detail: JSON.stringify(part.value)}))
        return [
          {...base, type: 'tool', call: part.call, tool: part.tool, input: part.input, result: null, operation: null},
        ]
      })
      return flaw === null ? entries : [...entries, ...notice('flawed_reply', flaw)]
    }
    case 'view.compacted':
      return [
        {
          ...base,
          type: 'notice',
          about: 'summarised',
          text: 'Earlier turns were summarised for the model; the transcript is complete.',
          detail: event.data.summary,
        },
      ]
    case 'view.refused':
      return notice(
        'narrowed',
        'The model’s provider refused this conversation as too long. The model now sees less of it. The transcript is unchanged.',
      )
    case 'session.forked':
      return notice('forked', `Branched from ${event.data.from.session} after event ${event.data.from.seq}.`)
    case 'run.cancelled':
      return notice('cancelled', event.data.reason ?? 'The run was cancelled.')
    case 'run.failed':
      return notice('failed', event.data.message)
    case 'run.retried':
      return notice('retried', 'Trying again from the last confirmed step.')
    case 'run.completed':
      return event.data.bound ? notice('stopped_at_bound', `Stopped at the limit of ${event.data.bound}.`) : []
    case 'run.alerted':
      return notice('alerted', `Stopped at the limit of ${event.data.bound}; a person decides whether it goes on.`)
    case 'run.extended':
      return notice('extended', 'One more budget was given.')
    case 'run.slept':
      return notice('slept', event.data.why)
    case 'run.woken':
      return notice('woken', wokenWords[event.data.by])
    case 'run.migrated':
      return notice('migrated', `Moved to version ${event.data.to.version}: ${event.data.reason}`)
    case 'session.closed':
      return notice('closed', event.data.reason ?? 'The session was closed.')
    case 'custody.granted':
      return notice('custody', 'Another device took over.')
    case 'custody.assumed':
      return notice('custody', 'A device went on with this conversation without the server.')
    default:
      return []
  }
}

/** Later events about a call change its card instead of adding a line; true when the event was such a one. */
function updateCard(
  {event, durability}: DurableEvent,
  calls: Map<string, ToolEntry>,
  operations: Map<string, ToolEntry>,
): boolean {
  if ('unreadable' in event || durability.status === 'rejected') return false
  if (event.kind === 'tool.returned') {
    const card = calls.get(event.data.call)
    const {outcome, output, blobs} = event.data
    if (card) card.result = {outcome, output, ...(blobs && {blobs})}
    return true
  }
  if (!('operation' in event.data) || event.kind === 'operation.proposed') return false
  const operation = operations.get(event.data.operation)?.operation
  if (!operation) return true
  switch (event.kind) {
    case 'approval.requested': {
      const {approval: id, role, reason, expiresAt, digest, approvers = 1} = event.data
      const approval = {id, role, reason, expiresAt, digest, approvers, endorsedBy: [], escalatedTo: null}
      Object.assign(operation, {status: 'awaiting_approval', reason, approval})
      return true
    }
    case 'approval.endorsed':
      operation.approval?.endorsedBy.push(event.data.by)
      return true
    case 'approval.escalated':
      if (operation.approval) operation.approval.escalatedTo = event.data.role
      return true
    case 'approval.granted':
      Object.assign(operation, {status: 'authorised', reason: event.data.note ?? null, decidedBy: event.data.by})
      return true
    case 'approval.rejected':
      Object.assign(operation, {status: 'rejected', reason: event.data.note ?? null, decidedBy: event.data.by})
      return true
    case 'approval.expired':
      Object.assign(operation, {status: 'expired', reason: 'Nobody decided in time.'})
      return true
    case 'operation.executed':
      // A doubt that has been settled is no reason any more; a note of the approver's still is.
      if (operation.status === 'uncertain') operation.reason = null
      Object.assign(operation, {
        status: 'executed',
        receipt: event.data.receipt,
        settledBy: event.data.settledBy ?? null,
      })
      return true
    case 'operation.failed':
      Object.assign(operation, {
        status: 'failed',
        reason: event.data.reason,
        settledBy: event.data.settledBy ?? null,
      })
      return true
    case 'operation.authorised':
    case 'operation.refused':
    case 'operation.uncertain':
    case 'operation.voided':
      Object.assign(operation, {status: event.kind.slice('operation.'.length), reason: event.data.reason})
      return true
    case 'operation.started':
      Object.assign(operation, {status: 'started'})
      return true
    default:
      return true
  }
}
