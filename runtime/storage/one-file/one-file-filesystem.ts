import {BaseFilesystem, type FsStats} from '@electric-sql/pglite/basefs'
import {chunkBytes, chunksIn, type Extent, FreeChunks, joined, parted, piecesOf} from './extents.ts'
import {errno, type File, type FileTree, type Folder, failed, type Node} from './file-tree.ts'
import {type Handle, readInto, writeAll} from './handle.ts'
import {TreeDamaged, TreeLog} from './tree-log.ts'

/** The data file, and the two files of the tree log. */
export type Files = {data: Handle; trees: readonly [Handle, Handle]}

/**
 * PGlite filesystem that stores all files of Postgres in one data file. Opening a database takes three handles instead of
 * about 500. The file tree is kept in a log.
 *
 * An allocation is logged before data is written to it, and data is written in place. A kill at any point therefore
 * leaves the same state as a kill of Postgres on a normal disk, and Postgres recovers from its write-ahead log. Freed
 * chunks are zeroed before they are allocated again. [RET-3, SYNC-5]
 */
export class OneFileFilesystem extends BaseFilesystem {
  /** True once PGlite's code and assets are loaded. A failure after that is caused by the data. */
  booting = false
  /** True after a write failed because the disk or quota is full. */
  full = false
  readonly #data: Handle
  readonly #log: TreeLog
  readonly #free: FreeChunks
  readonly #open = new Map<number, File>()
  #lastFd = 0
  /** Starts true: writes of a killed worker may be visible here and not flushed yet. */
  #unflushed = true
  /** A failed `unlink`. PGlite hides the error from Postgres, which then assumes that the file is removed. */
  #notRemoved: Error | null = null
  /** A file whose new size is not logged yet. Consecutive writes to one file share one line. */
  #grown: File | null = null

  /** @throws TreeDamaged when the file tree is unreadable or does not match the data file */
  constructor({data, trees}: Files) {
    super()
    this.#data = data
    this.#log = new TreeLog(trees)
    this.#free = freeIn(this.#log.tree)
    const lacking = this.#log.promisedBytes - this.#size
    // Postgres would read the missing bytes as zeros, that is, as empty pages.
    if (lacking > 0 && !this.isEmpty) throw new TreeDamaged(`the data file is ${lacking} bytes too short`)
    // Without a tree, keep the data file unchanged, so that it can be set aside whole.
    if (!this.isEmpty) this.#trim()
  }

  /** True for a new file tree, and for one that was lost. */
  get isEmpty(): boolean {
    return this.#tree.isEmpty
  }

  override async initialSyncFs(): Promise<void> {
    this.booting = true
  }

  /** Makes all previous writes durable, then zeroes freed chunks. */
  override async syncToFs(): Promise<void> {
    if (this.#notRemoved) throw this.#notRemoved
    this.#flush()
    this.#wipe()
  }

  #flush(): void {
    this.#tellGrowth()
    if (this.#unflushed) this.#data.flush()
    this.#unflushed = false
    this.#log.flush()
  }

  /**
   * Flushes and closes the files. A failed flush loses nothing: acknowledged writes are flushed already, and growth is
   * logged before any change that depends on it.
   */
  override async closeFs(): Promise<void> {
    await this.syncToFs().catch(() => {})
    this.abandon()
    this.pg?.Module.FS.quit()
  }

  /** Closes the handles without a flush, so that the next open can acquire them. */
  abandon(): void {
    this.#data.close()
    this.#log.close()
  }

  chmod(path: string, mode: number): void {
    const node = this.#tree.find(path)
    // The mode includes the file type, which chmod must not change.
    const whole = (node.mode & ~permissions) | (mode & permissions)
    if (whole !== node.mode) this.#change(['mode', node.id, whole])
  }

  open(path: string): number {
    this.#lastFd += 1
    this.#open.set(this.#lastFd, this.#tree.file(path))
    return this.#lastFd
  }

  close(fd: number): void {
    this.#opened(fd)
    this.#open.delete(fd)
  }

  fstat(fd: number): FsStats {
    return statsOf(this.#opened(fd))
  }

  lstat(path: string): FsStats {
    return statsOf(this.#tree.find(path))
  }

  mkdir(path: string, options: {mode?: number} = {}): void {
    const {folder, name} = this.#place(path)
    this.#change(['folder', this.#tree.newId(), folder.id, name, isFolder | ((options.mode ?? 0o755) & permissions)])
  }

  readdir(path: string): string[] {
    return [...this.#tree.folder(path).children.keys()]
  }

  rename(from: string, to: string): void {
    const node = this.#tree.find(from)
    const {folder, name, there} = this.#target(to)
    if (there === node) return
    if (there && there.kind !== node.kind) {
      throw failed(there.kind === 'folder' ? errno.EISDIR : errno.ENOTDIR, `${to} is a ${there.kind}`)
    }
    if (there?.kind === 'folder' && there.children.size > 0) throw failed(errno.ENOTEMPTY, `${to} is not empty`)
    this.#change(['move', node.id, folder.id, name])
  }

  rmdir(path: string): void {
    const folder = this.#tree.folder(path)
    if (folder.children.size > 0) throw failed(errno.ENOTEMPTY, `${path} is not empty`)
    this.#change(['remove', folder.id])
  }

  unlink(path: string): void {
    const file = this.#tree.file(path)
    try {
      this.#change(['remove', file.id])
    } catch (error) {
      this.#notRemoved = error as Error
      throw error
    }
  }

  truncate(path: string, length = 0): void {
    const file = this.#tree.file(path)
    this.#tellGrowth()
    if (length > file.size) this.#lengthen(file, length)
    else if (length < file.size) this.#shorten(file, length)
  }

  /** No-op: file times are not stored, and Postgres does not use them. */
  utimes(): void {}

  writeFile(path: string, data: string | Uint8Array, options: {mode?: number} = {}): void {
    const {folder, name, there} = this.#target(path)
    if (!there)
      this.#change(['file', this.#tree.newId(), folder.id, name, isFile | ((options.mode ?? 0o644) & permissions)])
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    const file = this.#tree.file(path)
    this.#writeTo(file, bytes, 0)
    if (file.size > bytes.length) this.truncate(path, bytes.length)
  }

  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number {
    const file = this.#opened(fd)
    const wanted = Math.max(0, Math.min(length, file.size - position))
    const into = new Uint8Array(buffer.buffer, buffer.byteOffset + offset, wanted)
    for (const {at, from, bytes} of piecesOf(file.extents, position, wanted)) {
      const piece = into.subarray(from, from + bytes)
      const read = this.#understood(() => readInto(this.#data, piece, at))
      // Allocated space beyond the end of the data file reads as zeros.
      piece.fill(0, read)
    }
    return wanted
  }

  /** `memory` is the whole memory of Postgres. `offset` and `length` select the bytes to write. */
  write(fd: number, memory: Uint8Array | ArrayBuffer, offset: number, length: number, position: number): number {
    const bytes =
      memory instanceof Uint8Array ? memory.subarray(offset, offset + length) : new Uint8Array(memory, offset, length)
    this.#writeTo(this.#opened(fd), bytes, position)
    return length
  }

  get #tree() {
    return this.#log.tree
  }

  #writeTo(file: File, bytes: Uint8Array, position: number): void {
    const end = position + bytes.length
    if (this.#grown !== file) this.#tellGrowth()
    this.#reserve(file, end)
    if (position > file.size) this.#zero(file, file.size, position)
    for (const {at, from, bytes: count} of piecesOf(file.extents, position, bytes.length)) {
      this.#unflushed = true
      this.#understood(() => writeAll(this.#data, bytes.subarray(from, from + count), at))
    }
    if (end <= file.size) return
    file.size = end
    this.#grown = file
  }

  #lengthen(file: File, length: number): void {
    this.#reserve(file, length)
    this.#zero(file, file.size, length)
    this.#change(['size', file.id, length])
  }

  #shorten(file: File, length: number): void {
    const {kept} = parted(file.extents, Math.ceil(length / chunkBytes))
    this.#change(['cut', file.id, length, kept])
    this.#zero(file, length, chunksIn(kept) * chunkBytes)
  }

  /** Allocates chunks for `bytes` bytes. Over-allocates for a growing file, to limit fragmentation. */
  #reserve(file: File, bytes: number): void {
    let have = chunksIn(file.extents)
    const wanted = Math.ceil(bytes / chunkBytes)
    if (wanted <= have) return
    if (!this.#tree.holds(file)) throw failed(errno.EBADF, `${file.name} was removed`)
    const goal = Math.max(wanted, have + Math.min(mostSpare, Math.floor(have / 8)))
    let extents = file.extents
    const taken: Extent[] = []
    while (have < goal) {
      const last = extents.at(-1)
      const extent = this.#free.take(goal - have, last ? last[0] + last[1] : -1)
      taken.push(extent)
      extents = joined(extents, extent)
      have += extent[1]
    }
    try {
      this.#change(['extents', file.id, extents])
    } catch (error) {
      this.#free.give(taken)
      throw error
    }
  }

  #zero(file: File, from: number, to: number): void {
    for (const {at, bytes} of piecesOf(file.extents, from, Math.max(0, to - from))) this.#zeroAt(at, bytes)
  }

  #zeroAt(at: number, bytes: number): void {
    this.#unflushed ||= bytes > 0
    for (let done = 0; done < bytes; done += zeros.length) {
      this.#understood(() => writeAll(this.#data, zeros.subarray(0, Math.min(zeros.length, bytes - done)), at + done))
    }
  }

  /** Zeroes and frees released chunks. Chunks of a removed file stay allocated until its last descriptor closes. */
  #wipe(): void {
    const removed = [...this.#open.values()].filter(file => !this.#tree.holds(file))
    const wiped = [...this.#tree.released].filter(([released]) => !removed.some(({id}) => id === released))
    if (wiped.length === 0) return
    for (const [start, count] of wiped.flatMap(([, extents]) => extents)) {
      const at = start * chunkBytes
      this.#zeroAt(at, Math.min(count * chunkBytes, Math.max(0, this.#size - at)))
    }
    // Flush the zeros first: if they were lost, the next owner of the chunks would see the erased content.
    this.#flush()
    if (!this.#tellWiped(wiped.map(([id]) => id))) return
    this.#free.give(wiped.flatMap(([, extents]) => extents))
    this.#trim()
  }

  /** Logs that the chunks are zeroed. Returns false if the disk is full: they stay released until the next sync. */
  #tellWiped(ids: readonly number[]): boolean {
    try {
      this.#change(['wiped', ids])
      return true
    } catch (error) {
      if (Reflect.get(Object(error), 'code') !== errno.ENOSPC) throw error
      return false
    }
  }

  /** Truncates the data file after the last chunk in use. The rest is unacknowledged or belongs to removed files. */
  #trim(): void {
    this.#free.trim()
    const end = this.#free.end * chunkBytes
    if (end < this.#size) this.#understood(() => this.#data.truncate(end))
  }

  get #size(): number {
    return this.#understood(() => this.#data.getSize())
  }

  #change(change: Parameters<TreeLog['change']>[0]): void {
    this.#tellGrowth()
    this.#understood(() => this.#log.change(change))
  }

  #tellGrowth(): void {
    const file = this.#grown
    if (file && this.#tree.holds(file)) this.#understood(() => this.#log.change(['size', file.id, file.size]))
    this.#grown = null
  }

  /** Translates `DOMException` into an errno. An error without one would unwind through Postgres and corrupt its state. */
  #understood<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof DOMException)) throw error
      const full = error.name === 'QuotaExceededError'
      this.full ||= full
      throw failed(full ? errno.ENOSPC : errno.EIO, error.message)
    }
  }

  #opened(fd: number): File {
    const file = this.#open.get(fd)
    if (!file) throw failed(errno.EBADF, `${fd} is not open`)
    return file
  }

  /** Resolves the path of a new entry. @throws an error with code `EEXIST` if it exists */
  #place(path: string): {folder: Folder; name: string} {
    const {folder, name, there} = this.#target(path)
    if (there) throw failed(errno.EEXIST, `${path} is there already`)
    return {folder, name}
  }

  #target(path: string): {folder: Folder; name: string; there: Node | undefined} {
    const names = path.split('/').filter(Boolean)
    const name = names.pop() ?? ''
    const folder = this.#tree.folder(names.join('/'))
    return {folder, name, there: folder.children.get(name)}
  }
}

const [permissions, isFolder, isFile] = [0o7777, 0o40000, 0o100000]
/** Maximum over-allocation of a growing file, in chunks (1 MiB). */
const mostSpare = 128
const zeros = new Uint8Array(1024 * 1024)

function freeIn({files, released}: FileTree): FreeChunks {
  try {
    return new FreeChunks([...files.flatMap(({extents}) => extents), ...[...released.values()].flat()])
  } catch (cause) {
    throw new TreeDamaged('two files of the tree share a place', {cause})
  }
}

function statsOf(node: Node): FsStats {
  const size = node.kind === 'file' ? node.size : 0
  const times = {atime: 0, mtime: 0, ctime: 0}
  const whose = {dev: 0, ino: node.id, nlink: 1, uid: 0, gid: 0, rdev: 0}
  return {...whose, mode: node.mode, size, blksize: chunkBytes, blocks: Math.ceil(size / chunkBytes), ...times}
}
