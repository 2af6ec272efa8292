import type {BlobId} from '../../runtime/protocol/blob.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {Owner} from '../principal.ts'

/** Maximum bytes of all blobs of a session, and of all sessions of a tenant. */
export type BlobRoom = {sessionBytes: number; tenantBytes: number}

/** `used` excludes the bytes of the refused blob. */
export type BlobPut = {kept: true} | {kept: false; full: keyof BlobRoom; used: number}

/**
 * Blobs by hash, separate per session. The same bytes in another session are another record, so that neither a
 * response nor an erasure discloses that they exist there. [ID-4, RET-5] A reference from an event is recorded with
 * the event; from then on the blob is kept as long as the event.
 */
export interface BlobShelf {
  /**
   * Stores bytes whose id the caller has verified, or records that there was no room. Idempotent, unless room has
   * become available. Null for an unknown session and for another subject's.
   */
  put(
    owner: Owner,
    session: SessionId,
    blob: {id: BlobId; bytes: Uint8Array; at: number},
    room: BlobRoom,
  ): Promise<BlobPut | null>
  /** `bytes` is null if there was no room. Null for an unknown blob and for another subject's. */
  get(owner: Owner, session: SessionId, id: BlobId): Promise<{bytes: Uint8Array | null} | null>
  /** Deletes blobs stored before `before` (ms) that no event references, at most `limit` across all tenants. */
  dropUnnamed(before: number, limit: number): Promise<number>
}
