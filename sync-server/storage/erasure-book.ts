import type {ErasureReceipt, PurgeOrder, RedactionOrder} from '../../runtime/protocol/erasure.ts'
import type {DeviceId, ErasureId, OperationId, SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import type {Owner} from '../principal.ts'

/** What is to go and who says so; `by` is null when its retention is over. */
export type ErasureOrder = {id: ErasureId; tenant: TenantId; by: SubjectId | null; at: number} & ErasureTarget
export type ErasureTarget = SessionTarget | SubjectTarget
export type SubjectTarget = {subject: SubjectId}
export type SessionTarget = {
  session: SessionId
  /** Only if it is theirs; null for an operator and the server itself. */
  of: SubjectId | null
  branches: 'keep' | 'erase'
  derived: boolean
  /** Only if nothing was added since (ms), which is looked up once it is locked. */
  idleSince?: number
}

/** An erasure whose rows are gone; what the other layers need to know to follow. */
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
/** `erasedAt`: when the last of its rows was erased (ms); null while that is under way. */
export type StoredReceipt = {receipt: ErasureReceipt; erasedAt: number | null}
export type LayerCount = ErasureReceipt['layers'][number]

/**
 * Erasures and their tombstones. What `begin` has erased never comes back: a tombstone stands in its place in the same
 * transaction, and no session is made under an id that has one. [RET-2, RET-3]
 */
export interface ErasureBook {
  /**
   * Erases every row of the scope, or, if it was erased before, finds that erasure. Of the ledger and of approvals the
   * receipt and the digest stay, without input and words; what had not started is void. Null if there is no such session.
   */
  begin(order: ErasureOrder): Promise<Erasure | null>
  /** Adds what the layers outside of this store lost to what they lost before; then only devices, effects and files are outstanding. */
  finish(ref: ErasureRef, layers: readonly LayerCount[], at: number): Promise<void>
  receipt(ref: ErasureRef): Promise<StoredReceipt | null>
  /** The operations of its scope, oldest first. Their rows in the ledger outlive the erasure. */
  operations(erasure: Erasure): Promise<OperationId[]>
  /** The subjects whose devices have not confirmed yet. */
  subjects(ref: ErasureRef): Promise<SubjectId[]>
  /** The erasure that took this session, if it was the subject's own. */
  tombstone(owner: Owner, session: SessionId): Promise<ErasureId | null>
  /**
   * Records how an effect ended whose session is gone, and drops its input; false if there is none such. The erasure is
   * unfinished again, because the effect may have written into other layers.
   */
  settle(effect: OrphanedEffect): Promise<boolean>
  /** Erasures whose other layers are still to be done, across tenants. */
  unfinished(limit: number): Promise<Erasure[]>
  /** Erasures whose last row was erased at `before` or earlier, and whose files are outstanding; across tenants. */
  filesWaiting(before: number, limit: number): Promise<ErasureRef[]>
  /** No file of the database holds any more what was erased at `before` or earlier; a later one stays outstanding. */
  filesDone(refs: readonly ErasureRef[], before: number, at: number): Promise<void>
}

export type OrphanedEffect = {
  tenant: TenantId
  operation: OperationId
  status: Extract<OperationStatus, 'executed' | 'failed' | 'uncertain'>
  outcome: Json
  at: number
}

/** What time brings to an end: looks and deletions across tenants, at most `limit` records a call. [RET-1] */
export interface Keeping {
  /** Sessions that nothing was added to since `before` (ms), references only. */
  idleSessions(before: number, limit: number): Promise<{tenant: TenantId; session: SessionId}[]>
  /** Drops operations that ended before, with their approvals, whose session was erased; says how many. */
  dropReceipts(before: number, limit: number): Promise<number>
  dropAudit(before: number, limit: number): Promise<number>
}

/** The devices that hold copies of a subject's records, and what each has still to purge. [RET-3] */
export interface DeviceRegister {
  /** Notes that a device fetches copies; what it does not say it holds could not be waited for. */
  seen(owner: Owner, device: DeviceId, at: number): Promise<void>
  /** What this device has not purged yet, oldest first, at most `limit`. */
  toPurge(owner: Owner, device: DeviceId, limit: number): Promise<PurgeOrder[]>
  /** Sessions of this subject that hold words of others which this device has not removed yet; at most `limit` orders. */
  toRedact(owner: Owner, device: DeviceId, limit: number): Promise<RedactionOrder[]>
  /** The device has purged or redacted; completes every erasure that waited for it alone. */
  purged(owner: Owner, device: DeviceId, erasures: readonly ErasureId[], at: number): Promise<void>
  /** True while the subject was erased and this device has not purged: what it brings is from before. */
  isStale(owner: Owner, device: DeviceId): Promise<boolean>
}
