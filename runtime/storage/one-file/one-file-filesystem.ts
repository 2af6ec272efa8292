import {BaseFilesystem, type FsStats} from '@electric-sql/pglite/basefs'
import {chunkBytes, chunksIn, type Extent, FreeChunks, joined, parted, piecesOf} from './extents.ts'
import {errno, type File, type FileTree, type Folder, failed, type Node} from './file-tree.ts'
import {type Handle, readInto, writeAll} from './handle.ts'
import {TreeDamaged, TreeLog} from './tree-log.ts'

/** The one file, and the two that tell what is where in it. */
export type Files = {data: Handle; trees: readonly [Handle, Handle]}

/**
 * All of Postgres' files in one: opening a database takes three handles instead of five hundred, and its file tree is a
 * log. What Postgres writes goes to its place at once, and what that place is, before: so that a kill at any point
 * leaves what a kill of Postgres would leave on any disk, and its write-ahead log recovers from that. What a file gave
 * up is overwritten before another may have it. [RET-3, SYNC-5]
 */
export class OneFileFilesystem extends BaseFilesystem {
  /** Code and assets are loaded, so whatever fails from here on is the data's fault. */
  booting = false
  /** A write found no room. */
  full = false
  readonly #data: Handle
  readonly #log: TreeLog
  readonly #free: FreeChunks
  readonly #open = new Map<number, File>()
  #lastFd = 0
  /** What a worker that was killed had written is read from here on, so the first sync is of that too. */
  #unflushed = true
  /** PGlite lets no error of a removal reach Postgres, which then takes the file for gone. */
  #notRemoved: Error | null = null
  /** A file that has grown and the log does not know of it yet; many writes in a row make one line. */
  #grown: File | null = null

  /** @throws TreeDamaged when it cannot be told what is where */
  constructor({data, trees}: Files) {
    super()
    this.#data = data
    this.#log = new TreeLog(trees)
    this.#free = freeIn(this.#log.tree)
    const lacking = this.#log.promisedBytes - this.#size
    // Zeros in their place would be taken for pages without rows.
    if (lacking > 0 && !this.isEmpty) throw new TreeDamaged(`the data file is ${lacking} bytes too short`)
    // A file whose tree is gone is nobody's to cut: it is set aside as it is.
    if (!this.isEmpty) this.#trim()
  }

  /** Nothing was ever written here, or what was is gone. */
  get isEmpty(): boolean {
    return this.#tree.isEmpty
  }

  override async initialSyncFs(): Promise<void> {
    this.booting = true
  }

  /** What was written so far survives what comes; only then is what was given up overwritten. */
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
   * The end of a shutdown is made sure of here. Should that fail, nothing is lost: all that was acknowledged is flushed,
   * and the log tells the growth of a file before anything is written that counts on it.
   */
  override async closeFs(): Promise<void> {
    await this.syncToFs().catch(() => {})
    this.abandon()
    this.pg?.Module.FS.quit()
  }

  /** Lets go of the files, whatever state they are in, so that the next open can have them. */
  abandon(): void {
    this.#data.close()
    this.#log.close()
  }

  chmod(path: string, mode: number): void {
    const node = this.#tree.find(path)
    // The type of a file is part of its mode, and no affair of chmod.
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

  /** Times are shown by nobody, and Postgres does not ask for them. */
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
      // Behind the end of the one file nothing was written yet.
      piece.fill(0, read)
    }
    return wanted
  }

  /** PGlite hands over the whole memory of Postgres, and where in it the bytes are. */
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

  /** Room for so many bytes; a file that grows gets more than it asks for, so that it stays in few pieces. */
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

  /** From a file that was removed while somebody has it open nothing is taken before it is closed. */
  #wipe(): void {
    const removed = [...this.#open.values()].filter(file => !this.#tree.holds(file))
    const wiped = [...this.#tree.released].filter(([released]) => !removed.some(({id}) => id === released))
    if (wiped.length === 0) return
    for (const [start, count] of wiped.flatMap(([, extents]) => extents)) {
      const at = start * chunkBytes
      this.#zeroAt(at, Math.min(count * chunkBytes, Math.max(0, this.#size - at)))
    }
    // Zeros that were lost would leave the old text to whoever has the place next.
    this.#flush()
    if (!this.#tellWiped(wiped.map(([id]) => id))) return
    this.#free.give(wiped.flatMap(([, extents]) => extents))
    this.#trim()
  }

  /** On a device that is full they stay released, for the next sync: what was asked for is done all the same. */
  #tellWiped(ids: readonly number[]): boolean {
    try {
      this.#change(['wiped', ids])
      return true
    } catch (error) {
      if (Reflect.get(Object(error), 'code') !== errno.ENOSPC) throw error
      return false
    }
  }

  /** What lies behind all that is in use, of a statement that was never acknowledged or of files that are gone, goes. */
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

  /** What comes without a number would go through Postgres as an exception, and leave it broken. */
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

  /** Where something new would stand. */
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
/** Chunks that a growing file may have in hand: 1 MiB. */
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
