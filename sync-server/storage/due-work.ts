import type {TenantId} from '../../runtime/protocol/ids.ts'

/**
 * What only time brings about. An `operation` is to be taken further, an approval (`expire`, `escalate`) is named by its
 * operation, a `webhook` carries the message that is to be delivered.
 */
export type DueName = 'operation' | 'expire' | 'escalate' | 'webhook'
export type DueRef = {tenant: TenantId; name: DueName; key: string}

/** Work held by whoever claimed it; `lease` tells this claim from any other. */
export type DueItem = DueRef & {dueAt: number; attempts: number; lease: number; body: string}

/** Sets when something is due, or with null that it is not any more; a lease that somebody has on it stays. */
export type DueChange = DueRef & {dueAt: number | null; body?: string}

/**
 * The table of due work: what it holds survives a restart, and of several processes exactly one gets each piece. It is
 * changed by events only through `append`, in their own transaction. A queue library (pg-boss) was measured against it:
 * 13 ms a job on PGlite because it cannot join that transaction, 48 relations, two statements a second while idle, and
 * no way onto a store without Postgres.
 */
export interface DueWork {
  /** Leases what is due and free, earliest first, until `now + leaseMs`; across tenants. */
  claim(options: {now: number; leaseMs: number; limit: number}): Promise<DueItem[]>
  /** The same for one piece, due or not yet; null when there is no such work or somebody has it. */
  claimOne(ref: DueRef, options: {now: number; leaseMs: number}): Promise<DueItem | null>
  /** Gives the lease back with a later time; nothing happens if the lease is not the current one. */
  postpone(item: DueItem, dueAt: number): Promise<void>
  /** Removes work that is done; nothing happens if the lease is not the current one. */
  finish(item: DueItem): Promise<void>
  /** Ends every lease and makes what was tried before due at once: for a process that knows it is the only one. */
  takeOver(now: number): Promise<void>
}
