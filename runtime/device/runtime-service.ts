import type {BlobId} from '../protocol/blob.ts'
import type {
  CorrelationId,
  DeviceId,
  EventId,
  MemoryChangeId,
  MemoryId,
  RunId,
  SessionId,
  StepId,
} from '../protocol/ids.ts'
import type {MemoryChange} from '../protocol/memory.ts'
import type {RecallAsk, RecalledMemory} from '../protocol/memory-recall.ts'
import type {MemoryView} from '../protocol/memory-view.ts'
import type {ModelView} from '../protocol/model-view.ts'
import type {Passport} from '../protocol/passport.ts'
import type {Person} from '../protocol/person.ts'
import type {StorageState} from '../protocol/recovery.ts'
import type {RunExport} from '../protocol/run-export.ts'
import type {BusyPolicy} from '../protocol/session.ts'
import type {Connection, SessionListItem, SessionView} from '../protocol/session-view.ts'
import type {StandingEffects} from '../protocol/standing-effects.ts'
import type {TranscriptEntry} from '../protocol/transcript.ts'
import type {ViewFrame} from '../protocol/view-frame.ts'
import type {DivergenceSettlement} from './divergences.ts'
import type {PersonState} from './person-status.ts'
import type {HistoryPage} from './read-history.ts'

export type NewSession = {event: EventId; agent: string; title?: string; policy?: BusyPolicy}

/** A message, with the ids that a branch for it would get: made by the page, so that saying it again changes nothing. */
export type OutgoingMessage = {
  text: string
  policy?: BusyPolicy
  correlation?: CorrelationId
  branch?: {session: SessionId; event: EventId}
}

/**
 * What the owner of the database offers to pages, in this tab or another. Arguments and results survive structured
 * cloning. Everything that writes carries the id of its event, so that a call whose answer was lost is sent again
 * unchanged. [CUS-5]
 */
export interface RuntimeService {
  openSession(session: SessionId, how: NewSession | null): Promise<void>
  /** Answers with the session that took the message: a branch, when the policy is to fork and the run is active. */
  send(session: SessionId, event: EventId, message: OutgoingMessage): Promise<SessionId>
  cancel(session: SessionId, event: EventId, reason?: string): Promise<void>
  retry(session: SessionId, event: EventId): Promise<void>
  /** One more budget for a run that was stopped at a bound. [BUD-2] */
  extend(session: SessionId, event: EventId): Promise<void>
  /** Moves the run to another version of its agent. [PIN-3] */
  migrate(session: SessionId, event: EventId, to: {version: string; reason: string}): Promise<void>
  close(session: SessionId, event: EventId, reason?: string): Promise<void>
  /** Requests custody from the server, so that this device continues the run. [CUS-3] */
  takeOver(session: SessionId): Promise<void>
  /** Continues the run while the server cannot be reached. Provisional until the server accepts it. [CUS-4] */
  continueOffline(session: SessionId, event: EventId): Promise<void>
  /** Hands custody to another device of the same person that has written in this session. [CUS-3] */
  handOver(session: SessionId, to: DeviceId): Promise<void>
  devices(session: SessionId): Promise<SessionDevice[]>
  settleDivergence(session: SessionId, settlement: DivergenceSettlement): Promise<SessionId>
  restoreDivergence(session: SessionId, divergence: EventId): Promise<void>
  /** What a branch after this event would not undo. [RUN-6] */
  effectsAfter(session: SessionId, after: number): Promise<StandingEffects>
  fork(session: SessionId, event: EventId, from: {session: SessionId; seq: number}): Promise<void>
  updateDocument(session: SessionId, event: EventId, name: string, update: Uint8Array): Promise<void>
  document(session: SessionId, name: string): Promise<Uint8Array | null>
  /** Returns the bytes of a blob of this session or of a session that it inherits from. The caller may keep them. */
  blob(session: SessionId, blob: BlobId): Promise<Uint8Array>
  /** Returns the complete view. Every later change of this session is published as a frame. */
  watch(session: SessionId): Promise<ViewFrame>
  view(session: SessionId): Promise<SessionView>
  /** Returns the entries before an event, from this device's log. */
  history(session: SessionId, asked: {before: string; limit?: number | undefined}): Promise<HistoryPage>
  /** Returns all entries of one event with their complete texts. */
  entry(session: SessionId, id: string): Promise<TranscriptEntry[]>
  sessions(): Promise<SessionListItem[]>
  sessionPassport(session: SessionId): Promise<Passport | null>
  /** What the model saw at a step, rebuilt and compared with its record; null for a step that is not here. [VIEW-2] */
  viewOf(run: RunId, step: StepId): Promise<ModelView | null>
  runPassport(run: RunId): Promise<Passport | null>
  /** Also from now on publishes every change of memory. */
  memory(): Promise<MemoryView>
  recallMemory(ask: RecallAsk): Promise<RecalledMemory[]>
  /** Kept under its own id, counts here at once, and is sent after `undoMs` milliseconds. */
  changeMemory(id: MemoryChangeId, item: MemoryId, change: MemoryChange, undoMs: number): Promise<void>
  /** False when the change is no longer here to be undone: it is sent, or was undone before. */
  undoMemory(id: MemoryChangeId): Promise<boolean>
  /** The run as one file; null for one that this device does not have. [OBS-2] */
  exportRun(run: RunId): Promise<RunExport | null>
  connection(): Promise<Connection>
  /** State of this device's storage. Every later change is published. */
  storage(): Promise<StorageState>
  /** The person has read the recovery report. [LOG-9] */
  dismissRecovery(): Promise<void>
  /** Result of `navigator.storage.persist()`, which only a page can call. */
  setPersisted(granted: boolean): Promise<void>
  setOnline(online: boolean): Promise<void>
  /** Passes on a token. Null: no person is signed in. With `failed`: the page could not get one, and why. */
  setToken(token: string | null, failed?: boolean | string): Promise<void>
  /** The owner of the database and the number of unsent entries; null until a person has used it. [ID-6] */
  person(): Promise<PersonState | null>
  /** The network may be available again: try now instead of after the pause. */
  hurry(): Promise<void>
  /** A person waits in front of a visible page. Called every few seconds while the server is unreachable. */
  attend(): Promise<void>
  /**
   * Stops all writes before this database is deleted, and returns the number of unsent entries. If there are more than
   * `most`, it is refused and writes continue.
   */
  closeForWipe(most: number | null): Promise<number>
}

/** A device that has written in a session. */
export type SessionDevice = {device: DeviceId; here: boolean; holder: boolean}

/** All writes are idempotent by event id, and reads change nothing: every method may be retried on the next owner. */
export const retriedMethods: readonly (keyof RuntimeService)[] = [
  'openSession',
  'send',
  'cancel',
  'retry',
  'extend',
  'migrate',
  'close',
  'takeOver',
  'continueOffline',
  'handOver',
  'devices',
  'settleDivergence',
  'restoreDivergence',
  'effectsAfter',
  'fork',
  'updateDocument',
  'document',
  'blob',
  'watch',
  'view',
  'history',
  'entry',
  'sessions',
  'sessionPassport',
  'viewOf',
  'runPassport',
  'memory',
  'recallMemory',
  'changeMemory',
  'undoMemory',
  'exportRun',
  'connection',
  'storage',
  'dismissRecovery',
  'setPersisted',
  'setOnline',
  'setToken',
  'person',
  'hurry',
  'attend',
  'closeForWipe',
]

/**
 * Frames that the owner publishes and pages listen to. A lost frame is repaired by the next one: it is complete, or, for a
 * session, names the view that it changes.
 */
export type Frames = {
  sessions: SessionListItem[]
  connection: Connection
  storage: StorageState
  memory: MemoryView
  /** The server refused the token: every page should provide a new one. */
  token: null
  person: PersonState | null
  /** The server has named another person than the owner of this database. [ID-6] */
  other: Person
} & {[topic: `session:${string}`]: ViewFrame} & {[topic: `document:${string}`]: Uint8Array}

export interface Publisher {
  publish<Topic extends keyof Frames>(topic: Topic, frame: Frames[Topic]): void
}
