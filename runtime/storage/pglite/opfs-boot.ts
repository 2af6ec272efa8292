import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import type {Handle} from '../one-file/handle.ts'
import {OneFileFilesystem} from '../one-file/one-file-filesystem.ts'
import {TreeDamaged} from '../one-file/tree-log.ts'
import {damaged, type Stopped} from './opened-database.ts'
import {isDomError, openAccess} from './opfs-files.ts'
import {type DamageOptions, startPGlite} from './start-pglite.ts'

export type BootOptions = DamageOptions & {
  /** Content of a new database. Without it, an empty file tree counts as damage. */
  loadDataDir?: Blob
  onStopped?: Stopped | undefined
}

/** Starts Postgres on the three files of a generation. Closes them if the start fails. */
export async function bootOneFile(handles: readonly Handle[], options: BootOptions): Promise<PGlite> {
  const {loadDataDir, onStopped, ...rest} = options
  const fs = filesystemOn(handles)
  try {
    // PGlite would create a new database in an empty file tree and hide the loss.
    if (fs.isEmpty && !loadDataDir) throw emptied()
    return await startPGlite({...(loadDataDir && {loadDataDir}), fs}, onStopped, rest)
  } catch (error) {
    fs.abandon()
    throw fs.full ? full(error) : understood(error, fs.booting)
  }
}

function filesystemOn(handles: readonly Handle[]): OneFileFilesystem {
  const [data, first, second] = handles as [Handle, Handle, Handle]
  try {
    return new OneFileFilesystem({data, trees: [first, second]})
  } catch (error) {
    for (const handle of handles) handle.close()
    throw error instanceof TreeDamaged ? damaged(error.message, error) : understood(error, false)
  }
}

export const oneFileNames = ['data', 'tree.0', 'tree.1']

/** Opens all files, or none. */
export async function openHandles(folder: FileSystemDirectoryHandle, names: readonly string[]): Promise<Handle[]> {
  const taken: FileSystemSyncAccessHandle[] = []
  try {
    for (const name of names) taken.push(await openAccess(folder, name))
    return taken
  } catch (error) {
    for (const handle of taken) handle.close()
    throw understood(error, false)
  }
}

export function understood(error: unknown, booting: boolean): HoldfastError {
  if (error instanceof HoldfastError) return error
  if (isDomError(error, 'NoModificationAllowedError', 'InvalidStateError')) return busy(error)
  if (isDomError(error, 'QuotaExceededError')) return full(error)
  return booting ? damaged('Postgres did not start on it', error) : HoldfastError.from(error)
}

export function emptied(): HoldfastError {
  return new HoldfastError('database_damaged', 'The database could not be opened whole: its file tree is empty.', {
    details: {emptied: true},
  })
}

function full(cause: unknown): HoldfastError {
  return new HoldfastError('storage_full', 'The device has no room left to open the database.', {cause})
}

export function busy(cause: unknown): HoldfastError {
  return new HoldfastError('database_locked', 'Another worker holds this database: its files are in use.', {cause})
}
