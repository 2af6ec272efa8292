import type {ApprovalRecord} from '../../runtime/protocol/approval.ts'
import type {BlobId, BlobRef} from '../../runtime/protocol/blob.ts'
import type {Envelope, Event, Kind} from '../../runtime/protocol/event.ts'
import type {
  ApprovalId,
  CallId,
  DeviceId,
  EventId,
  OperationId,
  RunId,
  SessionId,
  SubjectId,
  TenantId,
} from '../../runtime/protocol/ids.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {Slots} from '../../runtime/protocol/slots.ts'
import type {Basis} from '../../runtime/protocol/tool.ts'
import type {AgentListing, AgentManifest, SessionSummary, UncertainItem} from '../../runtime/protocol/wire.ts'
import type {Owner} from '../principal.ts'
import type {DelegationBook, KeyBook} from './approver-records.ts'
import type {BlobShelf} from './blob-shelf.ts'
import type {DueChange, DueWork} from './due-work.ts'
import type {DeviceRegister, ErasureBook, Keeping} from './erasure-book.ts'
import type {MemoryStore} from './memory-store.ts'
import type {FileScrubber} from './scrub.ts'
import type {TaskBook} from './task-book.ts'
import type {ModelCallBook, TokenStore} from './token-store.ts'

/** Everything the server keeps. Each port names the tenant in every call; what belongs to another is not found. [RET-5] */
export interface Store {
  readonly sessions: SessionStore
  readonly blobs: BlobShelf
  readonly ledger: Ledger
  readonly approvals: ApprovalBook
  readonly audit: AuditTrail
  readonly delegations: DelegationBook
  readonly keys: KeyBook
  readonly due: DueWork
  readonly agents: AgentBook
  readonly memory: MemoryStore
  readonly erasures: ErasureBook
  readonly devices: DeviceRegister
  readonly keeping: Keeping
  readonly revocations: Revocations
  /** Every record about a subject, in every table, as it stands when its turn comes. */
  records(owner: Owner): AsyncIterable<{layer: string; record: Json}>
  /** Removes erased rows from the files of the database, where this process may. [RET-3] */
  readonly files: FileScrubber
  /** Whether the database itself keeps tenants apart, should a statement forget to. [RET-5] */
  readonly walled: boolean
  readonly modelCalls: ModelCallBook
  readonly tokens: TokenStore
  readonly tasks: TaskBook
  readonly health: StoreHealth
}

/** For whoever asks whether this process can work. */
export interface StoreHealth {
  /** True when the schema is what this build needs; throws when the database cannot be reached or takes no writes. */
  migrated(): Promise<boolean>
}

/** A confirmed event with the hash of its content, by which a second delivery is recognised. */
export type SealedEvent = {event: Event & {seq: number}; hash: string}

/** Without `subject` the server asks on its own behalf; `create` makes the session if the id is free. */
export type SessionKey = {tenant: TenantId; session: SessionId; subject?: SubjectId; create?: SubjectId}

export interface SessionStore {
  /**
   * Runs `work` in one transaction that holds the session's row: nobody else appends to it meanwhile, and what `work`
   * appended is kept whole or, if anything throws, not at all. A session that `create` made and nothing was appended to
   * is not kept. Null for an unknown session and, alike, for another subject's. `work` may be run twice.
   */
  locked<T>(key: SessionKey, work: (session: LockedSession) => Promise<T>): Promise<{value: T} | null>
  /** The subject's sessions, latest first, at most `limit`. */
  list(owner: Owner, limit: number): Promise<SessionSummary[]>
  /**
   * Confirmed events with `seq > after`, oldest first, bounded by `limits` and by `bytes`, though one comes always; gapless, or with `kinds` only those and no
   * look at any other. Null as above.
   */
  page(
    owner: Owner,
    session: SessionId,
    after: number,
    kinds?: readonly Kind[],
    bytes?: number,
  ): Promise<{events: Envelope[]; head: number} | null>
  /** Control state as of the last commit; null as above. */
  state(owner: Owner, session: SessionId): Promise<SessionState | null>
  /** The session that a run belongs to, the subject's own only. */
  sessionOfRun(owner: Owner, run: RunId): Promise<SessionId | null>
}

/** One session under its lock; valid only inside `work`. */
export interface LockedSession {
  readonly subject: SubjectId
  readonly state: SessionState
  /** What the store already holds of the identities that these events would take. */
  known(events: readonly Event[]): Promise<Known>
  /** Head of another session of the same tenant and subject; null if there is none. */
  headOf(session: SessionId): Promise<number | null>
  /** What the slots of a session were right after the event `seq`; ask `headOf` first, it knows whose it is. [WRK-3] */
  slotsAsOf(session: SessionId, seq: number): Promise<Slots>
  /** Of the blobs that an event would name, those that are not here in this size; the others stay until this transaction ends. */
  lacking(blobs: readonly BlobRef[]): Promise<BlobId[]>
  /**
   * What has been started of a tool in this tenant, as of now: nobody else starts one until this transaction ends, so
   * that of two processes only one sees the last free place. With a subject, only what that subject proposed.
   */
  usage(of: {tool: string; subject?: SubjectId; since: number}): Promise<ToolUsage>
  /**
   * Appends, moves the control state, and brings ledger and approvals in line with the events: one transaction.
   * Sequence numbers must follow the head without a gap.
   */
  append(sealed: readonly SealedEvent[], commit: Commit): Promise<void>
}

/** What goes with an append: the state after it, the server's time (ms), who is accountable, and what it makes due. */
export type Commit = {state: SessionState; at: number; audit?: AuditEntry; due?: readonly DueChange[]}

/** Starts and amounts since a time; what failed for certain counts as a start, not as an amount. */
export type ToolUsage = {starts: number; amount: number; underWay: number}

export type Known = {
  events: Map<EventId, {session: string; seq: number; hash: string}>
  /** Which event took a device's sequence number in this session. */
  deviceSeqs: Map<string, EventId>
  /** Devices of which this batch holds a number that is taken: their database was set back. */
  setBack: Set<DeviceId>
  runs: Set<RunId>
  calls: Set<CallId>
  operations: Set<OperationId>
}

/** Ids that a reply gives to the calls it makes. */
export function callsIn(event: Event): CallId[] {
  if (event.kind !== 'model.replied') return []
  return event.data.content.flatMap(part => (part.type === 'call' ? part.call : []))
}

export function deviceSeqKey(device: DeviceId | null, deviceSeq: number | null): string {
  return `${device} ${deviceSeq}`
}

/** One operation as the ledger has it; never deleted, status always that of the last event about it. [OP-3] */
export type LedgerRow = {
  tenant: TenantId
  operation: OperationId
  session: SessionId
  run: RunId
  requestedBy: SubjectId
  tool: string
  version: string
  input: Json
  basis: Basis
  digest: string | null
  status: OperationStatus
  /** Receipt, or why there is none. */
  outcome: Json
  /** Whose word settles it while it is uncertain. */
  verdictRole: string | null
  proposedAt: number
  updatedAt: number
}

export type OperationRef = {tenant: TenantId; operation: OperationId}

export interface Ledger {
  operation(ref: OperationRef): Promise<LedgerRow | null>
  /** Uncertain operations that holders of these roles may settle, oldest first, at most `limit`. */
  uncertain(tenant: TenantId, roles: readonly string[], limit: number): Promise<UncertainItem[]>
}

export interface ApprovalBook {
  get(tenant: TenantId, approval: ApprovalId): Promise<ApprovalRecord | null>
  /** The approval that an operation was asked for; an operation has one at most. */
  of(ref: OperationRef): Promise<ApprovalRecord | null>
  /** What holders of these roles may decide, by escalation too, latest first, at most `limit`. */
  inbox(tenant: TenantId, roles: readonly string[], status: 'open' | 'all', limit: number): Promise<ApprovalRecord[]>
  /** The roles in whose inboxes approvals of these sessions stand. */
  rolesAsked(tenant: TenantId, sessions: readonly SessionId[]): Promise<string[]>
}

export const auditActions = [
  'approval.endorsed',
  'approval.granted',
  'approval.rejected',
  'approval.decision_refused',
  'event.forged',
  'operation.settled',
  'operation.verdict_refused',
  'delegation.granted',
  'delegation.revoked',
  'delegation.refused',
  'key.registered',
  'key.revoked',
  'key.refused',
  'webhook.given_up',
  'agent.published',
  'agent.activated',
  'agent.refused',
  'session.erased',
  'subject.erased',
  'subject.exported',
  'access.revoked',
  'memory.proposed',
  'memory.accepted',
  'memory.refused',
  'memory.corrected',
  'memory.superseded',
  'memory.expired',
  'memory.forgotten',
] as const
export type AuditAction = (typeof auditActions)[number]

/** Published versions of a tenant's agents, and which of each new runs take. Versions are never changed or removed. */
export interface AgentBook {
  /** One version once, with its audit entry: 'known' for the same manifest again, 'conflict' for another. */
  publish(
    where: {tenant: TenantId; name: string},
    manifest: AgentManifest,
    audit: AuditEntry,
  ): Promise<'published' | 'known' | 'conflict'>
  /** False when the version is not published. */
  activate(where: {tenant: TenantId; name: string}, version: string, audit: AuditEntry): Promise<boolean>
  /** At most `limit` versions, latest first. */
  list(tenant: TenantId, limit: number): Promise<AgentListing[]>
}

export type AuditEntry = {
  tenant: TenantId
  subject: SubjectId
  action: AuditAction
  /** Id of the record it is about. */
  about: string
  reason: string
  at: number
}

/** Access that ended before its tokens did. What is revoked stays so. */
export interface Revocations {
  /** At `at` (ms): one token by its id, or, without one, every token that works by then. */
  revoke(owner: Owner, token: string | null, at: number): Promise<void>
  isRevoked(owner: Owner, token: {id: string | null; issuedAt: number}, now: number): Promise<boolean>
}

export type AuditPage = {entries: (AuditEntry & {id: string})[]; next: string | null}

export interface AuditTrail {
  /** Append-only. */
  record(entry: AuditEntry): Promise<void>
  /** Oldest first. */
  about(tenant: TenantId, about: string): Promise<AuditEntry[]>
  /** All of a tenant, oldest first, after the entry with this id; `next` is where the next page begins, if there is one. */
  page(tenant: TenantId, after: string, limit: number): Promise<AuditPage>
}
