import {HoldfastError} from '../../protocol/errors.ts'
import type {Handle} from '../one-file/handle.ts'
import type {Fence} from './lock-fence.ts'
import {isDomError} from './opfs-files.ts'

/** Holds the current term. Old and new owner can have it open at once. Each write replaces the whole content. */
const epochFile = 'epoch'

export interface OpfsFence {
  /** Throws if another worker has begun a later term. Costs one read of 36 bytes. */
  check: Fence
  close(): void
}

/**
 * Begins the term `epoch`. A suspended earlier owner cannot acknowledge anything after this call: it checks the fence
 * before each file change and after each flush. Either its flush finished before this call, and a later copy contains the
 * acknowledged data, or its check fails and it stops.
 */
export async function beginTerm(folder: FileSystemDirectoryHandle, epoch: string): Promise<OpfsFence> {
  const file = await folder.getFileHandle(epochFile, {create: true})
  const access = await file.createSyncAccessHandle({mode: 'readwrite-unsafe'}).catch(error => {
    throw isDomError(error, 'NoModificationAllowedError', 'InvalidStateError') ? busy(error) : error
  })
  const own = new TextEncoder().encode(epoch)
  access.truncate(own.length)
  access.write(own, {at: 0})
  access.flush()
  const found = new Uint8Array(own.length)
  return {
    check() {
      access.read(found, {at: 0})
      if (own.some((byte, i) => byte !== found[i])) {
        throw new HoldfastError('database_locked', 'Another tab has taken the database over.')
      }
    },
    close: () => access.close(),
  }
}

/** Wraps a handle so that writes and flushes fail after the term. */
export function fenced(handle: Handle, {check}: OpfsFence): Handle {
  return {
    getSize: () => handle.getSize(),
    read: (into, options) => handle.read(into, options),
    write(bytes, options) {
      check()
      return handle.write(bytes, options)
    },
    truncate(size) {
      check()
      handle.truncate(size)
    },
    flush() {
      handle.flush()
      check()
    },
    close: () => handle.close(),
  }
}

/** In browsers without shared handles, the previous owner must close its handle first. */
function busy(cause: unknown): HoldfastError {
  return new HoldfastError('database_locked', 'Another worker holds this database: its files are in use.', {cause})
}
