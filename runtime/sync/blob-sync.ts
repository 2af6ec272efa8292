import {type BlobId, blobIdSchema, blobsOf} from '../protocol/blob.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {LoggedEvent} from '../protocol/event.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {EventVerdict} from '../protocol/wire.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {ServerLink} from './server-link.ts'

/**
 * Sends the bytes before the events that name them. Where the server has no room for them it says so once and takes the
 * event without: the log goes on, and the bytes stay on this device. [SYNC-1]
 */
export async function sendBlobs(
  link: ServerLink,
  store: DeviceStore,
  session: SessionId,
  events: readonly LoggedEvent[],
  onNoRoom: () => void = () => undefined,
): Promise<void> {
  const named = new Set(events.flatMap(blobsOf).map(({$blob}) => $blob))
  if (named.size === 0) return
  for (const {id} of await store.unsentBlobs(session)) {
    if (named.has(id) && !(await sendBlob(link, store, session, id))) onNoRoom()
  }
}

/**
 * Sends blobs again that the server had no room for, until it refuses one. Returns how many were sent and how many are
 * left.
 */
export async function sendLeftBlobs(
  link: ServerLink,
  store: DeviceStore,
  session: SessionId,
): Promise<{sent: number; left: number}> {
  const blobs = (await store.unsentBlobs(session)).filter(({noRoom}) => noRoom)
  for (const [sent, {id}] of blobs.entries()) {
    if (!(await sendBlob(link, store, session, id))) return {sent, left: blobs.length - sent}
  }
  return {sent: blobs.length, left: 0}
}

/** False when there was no room. */
async function sendBlob(link: ServerLink, store: DeviceStore, session: SessionId, id: BlobId): Promise<boolean> {
  const bytes = await store.blob(session, id)
  // Erased since it was listed: then the event goes too.
  if (!bytes) return true
  try {
    await link.putBlob(session, id, bytes)
  } catch (error) {
    if (!HoldfastError.is(error, 'budget_exhausted')) throw error
    await store.markBlob(session, id, 'no_room')
    return false
  }
  await store.markBlob(session, id, 'sent')
  return true
}

/**
 * What the server no longer has of what this device has sent: it drops what no event has named for a day, as after a
 * crash between sending the bytes and pushing the event. Its "no" is then no verdict on the event. [SYNC-4]
 */
export function lackingBlobs(verdicts: readonly EventVerdict[]): BlobId[] {
  return verdicts.flatMap(verdict => {
    const lacks = verdict.status === 'rejected' ? blobIdSchema.array().safeParse(verdict.error.details?.lacks) : null
    return lacks?.success ? lacks.data : []
  })
}

/** One that holds bytes is pushed by itself: if the server lacks them, nothing that builds on it has been judged yet. */
export function untilBlobs(events: readonly LoggedEvent[]): readonly LoggedEvent[] {
  const first = events.findIndex(event => blobsOf(event).length > 0)
  return first < 0 ? events : events.slice(0, Math.max(1, first))
}
