import {type BlobId, blobId} from '../../runtime/protocol/blob.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {limits} from '../../runtime/protocol/version.ts'
import type {Principal} from '../principal.ts'
import type {BlobRoom} from '../storage/blob-shelf.ts'
import type {Authority} from './authority.ts'
import {goneError} from './erase.ts'
import {hashBytes} from './hash.ts'

export type BlobKeeper = Pick<Authority, 'store' | 'environment'> & {room: BlobRoom}

const whose = {sessionBytes: 'session', tenantBytes: 'tenant'} as const

/**
 * Stores the bytes of a blob before an event references it. If there is no room, the refusal is recorded and the
 * event is accepted without the bytes, so that a full store does not block the log. [LOG-5, SYNC-1]
 *
 * @throws HoldfastError `bad_input` for bytes with another hash, `too_large`, `not_found` for a session that does not
 * exist or belongs to another subject, `erased`, `budget_exhausted` naming the limit that is reached
 */
export async function keepBlob(
  {store, environment, room}: BlobKeeper,
  principal: Principal,
  session: SessionId,
  {id, bytes}: {id: BlobId; bytes: Uint8Array<ArrayBuffer>},
): Promise<void> {
  if (bytes.length > limits.blobBytes) {
    throw new HoldfastError('too_large', `blob: ${bytes.length} bytes, at most ${limits.blobBytes} are taken`, {
      details: {field: 'blob', bytes: bytes.length, limit: limits.blobBytes},
    })
  }
  const found = blobId(await hashBytes(bytes))
  if (found !== id) {
    const expected = `expected the bytes of ${id}, got ${bytes.length} bytes of ${found}`
    throw new HoldfastError('bad_input', `blob: ${expected}`, {
      details: {what: 'blob', issues: [{field: 'blob', expected}]},
    })
  }
  const put = await store.blobs.put(principal, session, {id, bytes, at: environment.now()}, room)
  if (!put) throw await goneError(store, principal, session)
  if (put.kept) return
  const of = whose[put.full]
  const message = `The blobs of this ${of} come to ${put.used} of ${room[put.full]} bytes: there is no room for ${bytes.length} more.`
  throw new HoldfastError('budget_exhausted', message, {details: {of, used: put.used, limit: room[put.full]}})
}

/**
 * Reads the bytes of a blob.
 *
 * @throws HoldfastError `not_found`, `erased`, or `budget_exhausted` if the blob was not stored for lack of room;
 * then only the device that created it has it
 */
export async function readBlob(
  {store}: BlobKeeper,
  principal: Principal,
  session: SessionId,
  id: BlobId,
): Promise<Uint8Array> {
  const found = await store.blobs.get(principal, session, id)
  if (found?.bytes) return found.bytes
  if (found)
    throw new HoldfastError('budget_exhausted', 'There was no room for this blob; only the device that made it has it.')
  const gone = await goneError(store, principal, session)
  throw gone.code === 'erased' ? gone : new HoldfastError('not_found', 'No such blob.')
}

/** Returns the error for an event whose blobs are missing: readers could never load them. [LOG-5, RUN-9] */
export function lackingError({kind}: Event, lacks: readonly BlobId[]): HoldfastError {
  return new HoldfastError('refused', `The bytes of ${lacks.join(', ')} are not here, or are of another size.`, {
    details: {
      asked: `${kind} that names ${lacks.length} blobs`,
      met: 'bytes that are not here',
      owner: 'user',
      legal: ['put the blobs, then push the event again'],
      lacks: [...lacks],
    },
  })
}

/** Time (ms) after the upload in which an event must reference a blob; then the sweep deletes it. */
export const unnamedMs = 86_400_000
