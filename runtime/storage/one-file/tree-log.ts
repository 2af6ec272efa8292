import {checksum} from './checksum.ts'
import {piecesOf} from './extents.ts'
import {type Change, FileTree, type Snapshot} from './file-tree.ts'
import {type Handle, readAll, writeAll} from './handle.ts'

/** Flushed data is unreadable. A killed process or a power failure cannot cause this. */
export class TreeDamaged extends Error {}

type Opening = {generation: number; snapshot: Snapshot}

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]
const newline = 10

/**
 * Append-only log of a file tree, stored in two alternating files. The first line of a file is a snapshot, and each
 * further line is one change. When the log is long, a new snapshot is written to the other file. It becomes current when
 * its line is complete, so a valid snapshot exists at every point in time.
 *
 * Each line carries a checksum. The first line after a flush carries a mark. Lines after the last mark were not
 * acknowledged, and a power failure may lose any of them. Recovery applies them up to the first unreadable line.
 */
export class TreeLog {
  #tree = new FileTree()
  #current: Handle
  #spare: Handle
  #generation = 0
  /** Offset of the next line. It does not advance on a failed write, so a partial line is overwritten. */
  #end = 0
  #lines = 0
  #unflushed = false
  #promised = 0

  /** @throws TreeDamaged when neither file has a readable snapshot, or a flushed line is unreadable */
  constructor([first, second]: readonly [Handle, Handle]) {
    ;[this.#current, this.#spare] = [first, second]
    const found = [first, second].flatMap(handle => openingOf(handle) ?? [])
    const newest = found.toSorted((a, b) => b.opening.generation - a.opening.generation)[0]
    if (newest) this.#continue(newest, newest.handle === first ? second : first)
    // A torn first snapshot belongs to a tree that was never acknowledged, so it can be discarded.
    else if ([first, second].some(handle => readAll(handle).includes(newline))) {
      throw new TreeDamaged('the file tree is unreadable')
    }
  }

  get tree(): FileTree {
    return this.#tree
  }

  /** Minimum size of the data file in bytes, as of the last known flush. A shorter data file was truncated. */
  get promisedBytes(): number {
    return this.#promised
  }

  /** Writes the change to the log, then applies it. A failed write leaves the tree unchanged. */
  change(change: Change): void {
    this.#write(lineOf(change, this.#unflushed ? plain : flushed))
    this.#tree.apply(change)
    this.#lines += 1
  }

  /** Makes all previous changes durable. */
  flush(): void {
    if (this.#generation === 0) this.#begin()
    else if (this.#lines > longestLog) this.#beginIfThereIsRoom()
    if (this.#unflushed) this.#current.flush()
    this.#unflushed = false
  }

  close(): void {
    this.#current.close()
    this.#spare.close()
  }

  #write(line: Uint8Array): void {
    // Without a snapshot a line has no base. The first flush writes one.
    if (this.#generation === 0) return
    writeAll(this.#current, line, this.#end)
    this.#end += line.length
    this.#unflushed = true
  }

  /** If the disk is full, the current log stays in use beyond its length limit. */
  #beginIfThereIsRoom(): void {
    try {
      this.#begin()
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'QuotaExceededError')) throw error
      // The new snapshot may be complete, and it would win over later lines of the current log.
      this.#spare.truncate(0)
      this.#spare.flush()
      this.#lines = longestLog / 2
    }
  }

  #begin(): void {
    const opening: Opening = {generation: this.#generation + 1, snapshot: this.#tree.snapshot}
    const line = lineOf(opening, plain)
    // Flush the truncation first: after a crash no old line may follow the new snapshot.
    this.#spare.truncate(0)
    this.#spare.flush()
    writeAll(this.#spare, line, 0)
    this.#spare.flush()
    this.#current.truncate(0)
    ;[this.#current, this.#spare] = [this.#spare, this.#current]
    this.#generation = opening.generation
    this.#end = line.length
    this.#lines = 0
    this.#unflushed = false
  }

  #continue({handle, opening, bytes, end}: Found, other: Handle): void {
    ;[this.#current, this.#spare] = [handle, other]
    this.#generation = opening.generation
    this.#tree = treeOf(opening)
    this.#end = end
    this.#promised = endOfData(this.#tree)
    const lastFlush = lastFlushIn(bytes, end)
    for (;;) {
      const line = lineAt(bytes, this.#end)
      if (!line) break
      // All lines before this one were flushed, and the data file was flushed before them.
      if (this.#end === lastFlush) this.#promised = endOfData(this.#tree)
      this.#apply(line.value as Change)
      this.#end = line.end
    }
    if (this.#end < bytes.length) this.#cut(bytes)
    // Lines of a killed worker may still be unflushed. Flush them before later changes depend on them.
    // Then clear the other file, so that its snapshot is never used.
    this.#current.flush()
    other.truncate(0)
  }

  #cut(bytes: Uint8Array): void {
    if (anotherFlushAfter(bytes, this.#end)) {
      throw new TreeDamaged(`line ${this.#lines + 2} of the file tree is unreadable`)
    }
    this.#current.truncate(this.#end)
  }

  #apply(change: Change): void {
    try {
      this.#tree.apply(change)
    } catch (cause) {
      throw new TreeDamaged(`line ${this.#lines + 2} of the file tree does not fit the ones before`, {cause})
    }
    this.#lines += 1
  }
}

/** Number of changes after which a new snapshot is written. It bounds the lines that a start replays. */
const longestLog = 5000

type Found = {handle: Handle; opening: Opening; bytes: Uint8Array; end: number}

function treeOf({snapshot}: Opening): FileTree {
  try {
    return new FileTree(snapshot)
  } catch (cause) {
    throw new TreeDamaged('the file tree does not fit together', {cause})
  }
}

function openingOf(handle: Handle): Found | null {
  const bytes = readAll(handle)
  const line = lineAt(bytes, 0)
  return line && {handle, opening: line.value as Opening, bytes, end: line.end}
}

/** Line format: checksum, mark, JSON, line feed. The checksum covers the mark and the JSON. */
function lineOf(value: Change | Opening, mark: typeof plain | typeof flushed): Uint8Array {
  const body = encoder.encode(mark + JSON.stringify(value))
  const line = new Uint8Array(checksumLength + body.length + 1)
  line.set(encoder.encode(checksum(body)))
  line.set(body, checksumLength)
  line[line.length - 1] = newline
  return line
}

const [plain, flushed] = [' ', '!'] as const
const checksumLength = 8

function lineAt(bytes: Uint8Array, start: number): {value: unknown; mark: string; end: number} | null {
  const end = bytes.indexOf(newline, start)
  if (end < 0) return null
  const sum = decoder.decode(bytes.subarray(start, start + checksumLength))
  const body = bytes.subarray(start + checksumLength, end)
  if (sum !== checksum(body)) return null
  const text = decoder.decode(body)
  return {value: JSON.parse(text.slice(1)), mark: text.charAt(0), end: end + 1}
}

/** Offset of the last line that carries the flush mark, or -1. */
function lastFlushIn(bytes: Uint8Array, start: number): number {
  for (let end = bytes.length - 1; end > start; ) {
    const before = bytes.lastIndexOf(newline, end - 1)
    if (lineAt(bytes, before + 1)?.mark === flushed) return before + 1
    end = before
  }
  return -1
}

/** Offset in the data file after the last byte in use. */
function endOfData({files}: FileTree): number {
  let end = 0
  for (const {extents, size} of files) {
    for (const {at, bytes} of piecesOf(extents, 0, size)) end = Math.max(end, at + bytes)
  }
  return end
}

function anotherFlushAfter(bytes: Uint8Array, start: number): boolean {
  for (let at = bytes.indexOf(newline, start) + 1; at > 0; at = bytes.indexOf(newline, at) + 1) {
    if (lineAt(bytes, at)?.mark === flushed) return true
  }
  return false
}
