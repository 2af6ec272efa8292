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

/** All storage of the server. Every call names the tenant; records of another tenant are not found. [RET-5] */
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
  /** Yields every record about a subject from all tables. Each page is read in its own transaction. */
  records(owner: Owner): AsyncIterable<{layer: string; record: Json}>
  /** Removes erased rows from the database files, where this process may. [RET-3] */
  readonly files: FileScrubber
  /** Whether row-level security separates the tenants, in case a statement omits its tenant. [RET-5] */
  readonly walled: boolean
  readonly modelCalls: ModelCallBook
  readonly tokens: TokenStore
  readonly tasks: TaskBook
  readonly health: StoreHealth
}

/** Readiness of the database, for health checks. */
export interface StoreHealth {
  /** True if the schema is what this build needs. Throws if the database cannot be reached or accepts no writes. */
  migrated(): Promise<boolean>
}

/** A confirmed event with its content hash, by which a second delivery is recognised. */
export type SealedEvent = {event: Event & {seq: number}; hash: string}

/** Without `subject` the server acts on its own behalf. `create` creates the session if the id is free. */
export type SessionKey = {tenant: TenantId; session: SessionId; subject?: SubjectId; create?: SubjectId}

export interface SessionStore {
  /**
   * Runs `work` in one transaction that holds the session's row lock, so no other transaction appends meanwhile. If
   * `work` throws, nothing is kept. A session that `create` created is removed if nothing was appended. Null for an
   * unknown session and for another subject's. `work` may run twice.
   */
  locked<T>(key: SessionKey, work: (session: LockedSession) => Promise<T>): Promise<{value: T} | null>
  /** The subject's sessions, latest first, at most `limit`. */
  list(owner: Owner, limit: number): Promise<SessionSummary[]>
  /**
   * Confirmed events with `seq > after`, oldest first, without gaps. Bounded by `limits` and `bytes`, but at least
   * one event. With `kinds`, only events of these kinds are read. Null as above.
   */
  page(
    owner: Owner,
    session: SessionId,
    after: number,
    kinds?: readonly Kind[],
    bytes?: number,
  ): Promise<{events: Envelope[]; head: number} | null>
  /** Control state as of the last commit. Null as above. */
  state(owner: Owner, session: SessionId): Promise<SessionState | null>
  /** The session of a run, if it belongs to the subject. */
  sessionOfRun(owner: Owner, run: RunId): Promise<SessionId | null>
}

/** One session under its lock. Valid only inside `work`. */
export interface LockedSession {
  readonly subject: SubjectId
  readonly state: SessionState
  /** Which ids of these events are already used. */
  known(events: readonly Event[]): Promise<Known>
  /** Head of another session of the same tenant and subject; null if there is none. */
  headOf(session: SessionId): Promise<number | null>
  /** Slots of a session directly after event `seq`. Does not check the owner: call `headOf` first. [WRK-3] */
  slotsAsOf(session: SessionId, seq: number): Promise<Slots>
  /**
   * Returns the referenced blobs that are missing or have another size. The others are locked until this transaction
   * ends.
   */
  lacking(blobs: readonly BlobRef[]): Promise<BlobId[]>
  /**
   * Usage of a tool in this tenant, or by one subject. Locks the tool until this transaction ends, so that concurrent
   * starts cannot exceed a limit.
   */
  usage(of: {tool: string; subject?: SubjectId; since: number}): Promise<ToolUsage>
  /**
   * Appends events and updates the control state, ledger and approvals in the same transaction. Sequence numbers must
   * continue from the head without gaps.
   */
  append(sealed: readonly SealedEvent[], commit: Commit): Promise<void>
}

/** What commits with an append: the state after it, the server time (ms), the audit entry and the due work. */
export type Commit = {state: SessionState; at: number; audit?: AuditEntry; due?: readonly DueChange[]}

/** Starts and amounts since a time. An operation that failed counts as a start, but not towards the amount. */
export type ToolUsage = {starts: number; amount: number; underWay: number}

export type Known = {
  events: Map<EventId, {session: string; seq: number; hash: string}>
  /** The event that used a device's sequence number in this session. */
  deviceSeqs: Map<string, EventId>
  /** Devices that reuse a sequence number in this batch: their database was restored from an older copy. */
  setBack: Set<DeviceId>
  runs: Set<RunId>
  calls: Set<CallId>
  operations: Set<OperationId>
}

/** Returns the ids of the calls in a model reply. */
export function callsIn(event: Event): CallId[] {
  if (event.kind !== 'model.replied') return []
  return event.data.content.flatMap(part => (part.type === 'call' ? part.call : []))
}

export function deviceSeqKey(device: DeviceId | null, deviceSeq: number | null): string {
  return `${device} ${deviceSeq}`
}

/** The ledger row of one operation. Outlives its session; its status is that of the last event about it. [OP-3] */
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
  /** The receipt, or the reason why there is none. */
  outcome: Json
  /** The role that may settle the operation while it is uncertain. */
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
  /** The approval of an operation; an operation has at most one. */
  of(ref: OperationRef): Promise<ApprovalRecord | null>
  /** Approvals that holders of these roles may decide, also by escalation, latest first, at most `limit`. */
  inbox(tenant: TenantId, roles: readonly string[], status: 'open' | 'all', limit: number): Promise<ApprovalRecord[]>
  /** The roles whose inboxes contain approvals of these sessions. */
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

/** Published versions of a tenant's agents, and the active one of each. Versions are never changed or removed. */
export interface AgentBook {
  /**
   * Publishes a version with its audit entry. Returns 'known' for the same manifest, 'conflict' for a different one.
   */
  publish(
    where: {tenant: TenantId; name: string},
    manifest: AgentManifest,
    audit: AuditEntry,
  ): Promise<'published' | 'known' | 'conflict'>
  /** Returns false if the version is not published. */
  activate(where: {tenant: TenantId; name: string}, version: string, audit: AuditEntry): Promise<boolean>
  /** At most `limit` versions, latest first. */
  list(tenant: TenantId, limit: number): Promise<AgentListing[]>
}

export type AuditEntry = {
  tenant: TenantId
  subject: SubjectId
  action: AuditAction
  /** Id of the record that the entry is about. */
  about: string
  reason: string
  at: number
}

/** Access that was ended before its tokens expired. A revocation is permanent. */
export interface Revocations {
  /** Revokes one token by its id, or all tokens that are valid at `at` (ms). */
  revoke(owner: Owner, token: string | null, at: number): Promise<void>
  isRevoked(owner: Owner, token: {id: string | null; issuedAt: number}, now: number): Promise<boolean>
}

export type AuditPage = {entries: (AuditEntry & {id: string})[]; next: string | null}

export interface AuditTrail {
  /** Appends an entry. */
  record(entry: AuditEntry): Promise<void>
  /** Entries about one record, oldest first. */
  about(tenant: TenantId, about: string): Promise<AuditEntry[]>
  /** Entries of a tenant after the entry with this id, oldest first. `next` is the cursor of the next page, or null. */
  page(tenant: TenantId, after: string, limit: number): Promise<AuditPage>
}
