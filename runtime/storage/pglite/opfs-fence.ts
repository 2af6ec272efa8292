import {HoldfastError} from '../../protocol/errors.ts'
import type {Handle} from '../one-file/handle.ts'
import type {Fence} from './lock-fence.ts'
import {isDomError} from './opfs-files.ts'

/** Which owner's term it is. Two owners hold this file at once: it carries no data, and each write of it is whole. */
const epochFile = 'epoch'

export interface OpfsFence {
  /** Throws when another worker has begun its term since. Costs one read of 36 bytes. */
  check: Fence
  close(): void
}

/**
 * Begins the term `epoch`: from here on an earlier owner of this folder that was frozen, and thaws, can acknowledge
 * nothing. It asks the fence before each change of a file and after each flush. So either its flush was finished before
 * this call, and what it acknowledged is in the files that are copied after it, or it is told and stops.
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

/** The same file, changed and confirmed only within the term. */
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

/** Where handles are always exclusive, the owner before has to be gone. */
function busy(cause: unknown): HoldfastError {
  return new HoldfastError('database_locked', 'Another worker holds this database: its files are in use.', {cause})
}
