import type {Delegation} from '../../runtime/protocol/delegation.ts'
import type {ApproverKeyId, DelegationId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {ApproverKey} from '../../runtime/protocol/intent.ts'
import type {Owner} from '../principal.ts'
import type {AuditEntry} from './store.ts'

/** Delegated roles. Every change commits together with its audit entry. */
export interface DelegationBook {
  /**
   * Adds a delegation. There is at most one in force per role, lender and receiver: adding it again updates the end
   * and the reason, so that one revocation ends it. Returns the delegation in force. Concurrent calls are serialised.
   */
  add(tenant: TenantId, delegation: Delegation, audit: Omit<AuditEntry, 'about'>): Promise<Delegation>
  get(tenant: TenantId, delegation: DelegationId): Promise<Delegation | null>
  /** Delegations by or to this subject, latest first. */
  list(owner: Owner, limit: number): Promise<Delegation[]>
  /** Delegations to this subject that are in force at `now` (ms). */
  inForce(owner: Owner, now: number): Promise<Delegation[]>
  /** The subjects to whom this role is delegated at `now` (ms). */
  holders(tenant: TenantId, role: string, now: number): Promise<SubjectId[]>
  /** Returns false if it was already revoked. */
  revoke(tenant: TenantId, delegation: DelegationId, at: number, audit: AuditEntry): Promise<boolean>
  /** Revokes all delegations by this subject and returns their receivers. `audit` is recorded for each. */
  revokeAllFrom(owner: Owner, at: number, audit: Omit<AuditEntry, 'about'>): Promise<SubjectId[]>
}

export type StoredKey = ApproverKey & {subject: SubjectId; publicKey: string}

/** The public keys of approvers' devices. Every change commits together with its audit entry. */
export interface KeyBook {
  /**
   * Adds a key, or returns the key in force with the same public key. Null if the subject already has `atMost` keys
   * in force. Concurrent calls are serialised.
   */
  add(tenant: TenantId, key: StoredKey, audit: AuditEntry, atMost: number): Promise<StoredKey | null>
  get(tenant: TenantId, key: ApproverKeyId): Promise<StoredKey | null>
  /** All keys of this subject, latest first, including revoked ones. */
  list(owner: Owner): Promise<StoredKey[]>
  /** Returns false if it was already revoked. */
  revoke(tenant: TenantId, key: ApproverKeyId, at: number, audit: AuditEntry): Promise<boolean>
}
