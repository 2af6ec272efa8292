import {blobIdOf} from '../loop/storable-result.ts'
import type {BlobId} from '../protocol/blob.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {BlobReads, DeviceStore, UnitOfWork} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import type {ServerLink} from '../sync/server-link.ts'

type Parts = {
  store: DeviceStore
  link: Pick<ServerLink, 'blob'> | null
  openLog(session: SessionId): Promise<SessionLog>
}
type Bytes = Uint8Array<ArrayBuffer>

export type BlobReader = (session: SessionId, id: BlobId, unit?: UnitOfWork) => Promise<Bytes>

/**
 * Reads a blob of a session or of what it inherits: from this device, else from the server, which also stores it here.
 * Bytes that do not match their id are never returned. [LOG-5]
 *
 * @throws HoldfastError `not_found`; `offline` when only the server could have it; `bad_input` when the server sends
 * other bytes; `budget_exhausted` when the server had no room for them and another device made them
 */
export function blobReader({store, link, openLog}: Parts): BlobReader {
  return async (session, id, unit) => {
    const bytes = await here(unit ?? store, session, id)
    if (bytes) return bytes
    // Inside a unit of work the database waits for us, so the network must not be waited for.
    if (unit) throw new HoldfastError('not_found', `${id}: this blob is not on this device; a read tool can fetch it`)
    if (link) {
      for (const owner of await family(store, session)) {
        const fetched = await link.blob(owner, id).catch(nullWhenGone)
        if (fetched) return await keep(owner, id, new Uint8Array(fetched))
      }
    }
    throw new HoldfastError('not_found', `${id}: neither this session nor what it inherits has such a blob`)
  }

  async function keep(owner: SessionId, id: BlobId, bytes: Bytes): Promise<Bytes> {
    if ((await blobIdOf(bytes)) !== id) {
      throw new HoldfastError('bad_input', `${id}: the server sent ${bytes.length} bytes that have another hash`)
    }
    const log = await openLog(owner)
    await log.keepBlob({id, bytes}).catch(error => {
      // They are read all the same when there is no room to keep them; but nothing is read of what was erased meanwhile.
      if (!HoldfastError.is(error, 'storage_full')) throw error
    })
    return bytes
  }
}

/** Bytes that the disk has spoilt are as good as none: the server may have them whole. */
async function here(reads: BlobReads, session: SessionId, id: BlobId): Promise<Bytes | null> {
  const found = await reads.blob(session, id)
  // A copy, which its reader may give away.
  const bytes = found && new Uint8Array(found)
  return bytes && (await blobIdOf(bytes)) === id ? bytes : null
}

/** The session and what it inherits from, nearest first. */
async function family(store: DeviceStore, session: SessionId): Promise<SessionId[]> {
  const ids = [session]
  for (;;) {
    const parent = (await store.session(ids.at(-1) ?? session))?.current.forkedFrom?.session
    if (!parent || !(await store.session(parent))) return ids
    ids.push(parent)
  }
}

function nullWhenGone(error: unknown): null {
  if (HoldfastError.is(error, 'not_found', 'erased')) return null
  throw error
}
