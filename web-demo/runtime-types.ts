import type {Inbox, InboxState, SessionView, TranscriptEntry} from '../runtime/index.ts'

export type {
  BrowserRuntime,
  BusyPolicy,
  Connection,
  Inbox,
  InboxState,
  MemoryEntry,
  MemoryRecord,
  MemoryView,
  ModelView,
  Opening,
  Passport,
  PersonState,
  RecalledMemory,
  Session,
  SessionListItem,
  SessionView,
  SharedDocument,
  StandingEffects,
  TranscriptEntry,
} from '../runtime/index.ts'

/** Parts of what the runtime's public types hold, under the names that the page uses. */
export type Durability = TranscriptEntry['durability']
export type ToolEntry = Extract<TranscriptEntry, {type: 'tool'}>
export type StepRef = NonNullable<Extract<TranscriptEntry, {type: 'reply'}>['step']>
export type Json = ToolEntry['input']
export type Status = SessionView['status']
export type InboxItem = InboxState['items'][number]
export type UncertainItem = InboxState['uncertain'][number]
export type KeptDecision = InboxState['decisions'][number]
export type ApproverKey = NonNullable<InboxState['keys']>[number]
export type Delegation = Awaited<ReturnType<Inbox['delegations']>>[number]
export type Settlement = Parameters<Inbox['settle']>[1]
export type Decision = Parameters<Inbox['decide']>[1]
