import type {ErasureReceipt, PurgeOrder, RedactionOrder} from '../../runtime/protocol/erasure.ts'
import type {DeviceId, ErasureId, OperationId, SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import type {Owner} from '../principal.ts'

/** What to erase and who requested it. `by` is null if the retention period ended. */
export type ErasureOrder = {id: ErasureId; tenant: TenantId; by: SubjectId | null; at: number} & ErasureTarget
export type ErasureTarget = SessionTarget | SubjectTarget
export type SubjectTarget = {subject: SubjectId}
export type SessionTarget = {
  session: SessionId
  /** Erases only if the session belongs to this subject. Null for an operator and for the server itself. */
  of: SubjectId | null
  branches: 'keep' | 'erase'
  derived: boolean
  /** Erases only if nothing was added since this time (ms). Checked under the lock. */
  idleSince?: number
}

/** An erasure whose rows are deleted, with what the other layers need. */
export type Erasure = {
  id: ErasureId
  tenant: TenantId
  subject: SubjectId
  /** Null for the whole subject. */
  session: SessionId | null
  sessions: readonly SessionId[]
  derived: boolean
}

export type ErasureRef = {tenant: TenantId; erasure: ErasureId}
/** `erasedAt`: when the last row was erased (ms); null until then. */
export type StoredReceipt = {receipt: ErasureReceipt; erasedAt: number | null}
export type LayerCount = ErasureReceipt['layers'][number]

/**
 * Erasures and their tombstones. What `begin` has erased never returns: the same transaction writes a tombstone, and
 * no session is created with an id that has one. [RET-2, RET-3]
 */
export interface ErasureBook {
  /**
   * Erases every row of the scope, or returns the existing erasure. Of the ledger and approvals, receipt and digest
   * are kept, without input and text; operations that have not started are voided. Null if there is no such session.
   */
  begin(order: ErasureOrder): Promise<Erasure | null>
  /** Adds the counts of layers outside this store. Afterwards only devices, effects and files can be outstanding. */
  finish(ref: ErasureRef, layers: readonly LayerCount[], at: number): Promise<void>
  receipt(ref: ErasureRef): Promise<StoredReceipt | null>
  /** The operations of the scope, oldest first. Their ledger rows outlive the erasure. */
  operations(erasure: Erasure): Promise<OperationId[]>
  /** The subjects whose devices have not confirmed yet. */
  subjects(ref: ErasureRef): Promise<SubjectId[]>
  /** The erasure of this session, if the session belonged to the subject. */
  tombstone(owner: Owner, session: SessionId): Promise<ErasureId | null>
  /**
   * Records the outcome of an effect whose session is erased, and deletes its input. False if there is none. Reopens
   * the erasure, because the effect may have written to other layers.
   */
  settle(effect: OrphanedEffect): Promise<boolean>
  /** Erasures whose other layers are not erased yet, across tenants. */
  unfinished(limit: number): Promise<Erasure[]>
  /** Erasures whose last row was erased at `before` (ms) or earlier and whose files are outstanding, across tenants. */
  filesWaiting(before: number, limit: number): Promise<ErasureRef[]>
  /**
   * Marks the files clean of everything erased at `before` (ms) or earlier. What was erased later stays outstanding.
   */
  filesDone(refs: readonly ErasureRef[], before: number, at: number): Promise<void>
}

export type OrphanedEffect = {
  tenant: TenantId
  operation: OperationId
  status: Extract<OperationStatus, 'executed' | 'failed' | 'uncertain'>
  outcome: Json
  at: number
}

/** Queries and deletions for retention, across tenants, at most `limit` records per call. [RET-1] */
export interface Keeping {
  /** References of sessions without changes since `before` (ms). */
  idleSessions(before: number, limit: number): Promise<{tenant: TenantId; session: SessionId}[]>
  /**
   * Deletes operations of erased sessions that ended before `before` (ms), with their approvals. Returns their
   * number.
   */
  dropReceipts(before: number, limit: number): Promise<number>
  dropAudit(before: number, limit: number): Promise<number>
}

/** The devices that hold copies of a subject's records, and what each has to purge. [RET-3] */
export interface DeviceRegister {
  /** Records that a device fetches copies. An erasure waits only for recorded devices. */
  seen(owner: Owner, device: DeviceId, at: number): Promise<void>
  /** What this device has not purged yet, oldest first, at most `limit`. */
  toPurge(owner: Owner, device: DeviceId, limit: number): Promise<PurgeOrder[]>
  /**
   * Sessions of this subject with erased text of other subjects that this device has not removed yet, at most `limit`
   * orders.
   */
  toRedact(owner: Owner, device: DeviceId, limit: number): Promise<RedactionOrder[]>
  /** Records that the device has purged or redacted. Completes every erasure that waited only for it. */
  purged(owner: Owner, device: DeviceId, erasures: readonly ErasureId[], at: number): Promise<void>
  /**
   * True if the subject was erased and this device has not purged: the events it pushes are from before the erasure.
   */
  isStale(owner: Owner, device: DeviceId): Promise<boolean>
}
