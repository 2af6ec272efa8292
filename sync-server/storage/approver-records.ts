import type {Delegation} from '../../runtime/protocol/delegation.ts'
import type {ApproverKeyId, DelegationId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {ApproverKey} from '../../runtime/protocol/intent.ts'
import type {Owner} from '../principal.ts'
import type {AuditEntry} from './store.ts'

/** Roles that were lent. Every change goes with its audit entry, both or neither. */
export interface DelegationBook {
  /**
   * One role is lent by one person to another at most once at a time: lent again, what is in force gets the new end and
   * reason, so that one revocation ends it. Gives back what is in force then; of two at once, one is first.
   */
  add(tenant: TenantId, delegation: Delegation, audit: Omit<AuditEntry, 'about'>): Promise<Delegation>
  get(tenant: TenantId, delegation: DelegationId): Promise<Delegation | null>
  /** Given by or to this subject, latest first. */
  list(owner: Owner, limit: number): Promise<Delegation[]>
  /** What this subject has been lent and may use at `now` (ms). */
  inForce(owner: Owner, now: number): Promise<Delegation[]>
  /** Who has been lent this role at `now` (ms). */
  holders(tenant: TenantId, role: string, now: number): Promise<SubjectId[]>
  /** False when it was revoked already. */
  revoke(tenant: TenantId, delegation: DelegationId, at: number, audit: AuditEntry): Promise<boolean>
  /** Revokes all that this subject has lent, and says to whom; `audit` is repeated for each. */
  revokeAllFrom(owner: Owner, at: number, audit: Omit<AuditEntry, 'about'>): Promise<SubjectId[]>
}

export type StoredKey = ApproverKey & {subject: SubjectId; publicKey: string}

/** The public keys of approvers' devices. Every change goes with its audit entry, both or neither. */
export interface KeyBook {
  /**
   * Adds a key, or gives back the one of the same public key that is in force; null when the subject has `atMost` in
   * force. Of two at once, one is first.
   */
  add(tenant: TenantId, key: StoredKey, audit: AuditEntry, atMost: number): Promise<StoredKey | null>
  get(tenant: TenantId, key: ApproverKeyId): Promise<StoredKey | null>
  /** Of this subject, latest first, revoked ones too. */
  list(owner: Owner): Promise<StoredKey[]>
  /** False when it was revoked already. */
  revoke(tenant: TenantId, key: ApproverKeyId, at: number, audit: AuditEntry): Promise<boolean>
}
