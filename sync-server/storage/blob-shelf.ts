import type {BlobId} from '../../runtime/protocol/blob.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {Owner} from '../principal.ts'

/** Bytes that the blobs of one session, and of all sessions of a tenant, may come to. */
export type BlobRoom = {sessionBytes: number; tenantBytes: number}

/** `used` is without the bytes that were to be put. */
export type BlobPut = {kept: true} | {kept: false; full: keyof BlobRoom; used: number}

/**
 * Bytes by their hash, each session with its own: the same bytes in another session, of whomever, are another record, so
 * neither an answer nor an erasure tells that they are there too. [ID-4, RET-5] That an event names them is written with
 * the event, and from then on they stay as long as it does.
 */
export interface BlobShelf {
  /**
   * Keeps bytes whose id the caller has checked, or writes down that there was no room for them; one more time changes
   * nothing, unless there is room by now. Null for an unknown session and, alike, for another subject's.
   */
  put(
    owner: Owner,
    session: SessionId,
    blob: {id: BlobId; bytes: Uint8Array; at: number},
    room: BlobRoom,
  ): Promise<BlobPut | null>
  /** `bytes` is null where there was no room; null for what is not there and, alike, for what is another's. */
  get(owner: Owner, session: SessionId, id: BlobId): Promise<{bytes: Uint8Array | null} | null>
  /** Drops what was put before a time (ms) and no event has named, at most `limit` of all tenants. */
  dropUnnamed(before: number, limit: number): Promise<number>
}
