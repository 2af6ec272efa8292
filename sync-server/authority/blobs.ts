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
 * Keeps the bytes of a blob before an event names it. Where there is no room the refusal is written down, and the event
 * is taken without them: a full shelf holds up nobody's log. [LOG-5, SYNC-1]
 *
 * @throws HoldfastError `bad_input` for bytes of another hash, `too_large`, `not_found` for a session that is unknown or
 * somebody else's, `erased`, `budget_exhausted` naming whose room is used up
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
 * @throws HoldfastError `not_found`, `erased`, and `budget_exhausted` where there was no room: then only the device that
 * made it has it
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

/** No event names bytes that were never brought: who reads it later could not have them. [LOG-5, RUN-9] */
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

/** Until then an event has to name what was put, else the sweep drops it. */
export const unnamedMs = 86_400_000
