import type {TenantId} from '../../runtime/protocol/ids.ts'

/**
 * The kinds of timed work. `operation` advances an operation; `expire` and `escalate` concern an approval, by the id
 * of its operation; `webhook` delivers a message.
 */
export type DueName = 'operation' | 'expire' | 'escalate' | 'webhook'
export type DueRef = {tenant: TenantId; name: DueName; key: string}

/** Claimed work. `lease` identifies this claim. */
export type DueItem = DueRef & {dueAt: number; attempts: number; lease: number; body: string}

/** Sets when work is due, or cancels it with null. An existing lease is kept. */
export type DueChange = DueRef & {dueAt: number | null; body?: string}

/**
 * The table of due work. It survives a restart, and of several processes exactly one claims each item. Events change
 * it only through `append`, in their own transaction. The queue library pg-boss was measured instead: 13 ms per job
 * on PGlite, because it cannot join that transaction; 48 relations; two statements per second while idle; and it
 * requires Postgres.
 */
export interface DueWork {
  /** Leases due items without a lease until `now + leaseMs`, earliest first, across tenants. */
  claim(options: {now: number; leaseMs: number; limit: number}): Promise<DueItem[]>
  /** Leases one item, due or not. Null if there is no such item or it is leased. */
  claimOne(ref: DueRef, options: {now: number; leaseMs: number}): Promise<DueItem | null>
  /** Releases the lease and sets a later time. No effect if the lease is not current. */
  postpone(item: DueItem, dueAt: number): Promise<void>
  /** Deletes completed work. No effect if the lease is not current. */
  finish(item: DueItem): Promise<void>
  /**
   * Ends every lease and makes every item that was tried before due now. Only for a process that is known to be the
   * only one.
   */
  takeOver(now: number): Promise<void>
}
