import {checksum} from './checksum.ts'
import {piecesOf} from './extents.ts'
import {type Change, FileTree, type Snapshot} from './file-tree.ts'
import {type Handle, readAll, writeAll} from './handle.ts'

/** Something that was flushed cannot be read any more: this is no kill, and no loss of power. */
export class TreeDamaged extends Error {}

type Opening = {generation: number; snapshot: Snapshot}

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]
const newline = 10

/**
 * A tree of files on disk: a snapshot on the first line of one of two files, and a line for each change since. When
 * they have become many, a snapshot is begun in the other file and counts once it is whole, so that a kill at any point
 * leaves one that does. Each line carries its checksum, and the first one after a flush a mark: of what comes after the
 * last mark nothing was promised, and a loss of power may have taken any of it, so it counts up to its first gap.
 */
export class TreeLog {
  #tree = new FileTree()
  #current: Handle
  #spare: Handle
  #generation = 0
  /** Where the next line goes: one that failed half-way is written over. */
  #end = 0
  #lines = 0
  #unflushed = false
  #promised = 0

  /** @throws TreeDamaged when neither file can be read, or a line that was flushed */
  constructor([first, second]: readonly [Handle, Handle]) {
    ;[this.#current, this.#spare] = [first, second]
    const found = [first, second].flatMap(handle => openingOf(handle) ?? [])
    const newest = found.toSorted((a, b) => b.opening.generation - a.opening.generation)[0]
    if (newest) this.#continue(newest, newest.handle === first ? second : first)
    // A first snapshot that was cut short is of a tree that nobody was promised.
    else if ([first, second].some(handle => readAll(handle).includes(newline))) {
      throw new TreeDamaged('the file tree is unreadable')
    }
  }

  get tree(): FileTree {
    return this.#tree
  }

  /** Bytes that the data file had when the log was last known to be flushed: fewer are a file that was cut. */
  get promisedBytes(): number {
    return this.#promised
  }

  /** Makes the change, and writes it down: first on disk, so that a failure leaves the tree as it was. */
  change(change: Change): void {
    this.#write(lineOf(change, this.#unflushed ? plain : flushed))
    this.#tree.apply(change)
    this.#lines += 1
  }

  /** What was changed so far survives what comes. */
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
    // Before the first snapshot there is nothing that a line could follow.
    if (this.#generation === 0) return
    writeAll(this.#current, line, this.#end)
    this.#end += line.length
    this.#unflushed = true
  }

  /** A device that is full can still go on with a log that is too long. */
  #beginIfThereIsRoom(): void {
    try {
      this.#begin()
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'QuotaExceededError')) throw error
      // It may be whole all the same, and must not be believed once this log has gone on.
      this.#spare.truncate(0)
      this.#spare.flush()
      this.#lines = longestLog / 2
    }
  }

  #begin(): void {
    const opening: Opening = {generation: this.#generation + 1, snapshot: this.#tree.snapshot}
    const line = lineOf(opening, plain)
    // Old lines must not stand behind the new one, whatever of this reaches the disk.
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
      // Everything before this line was flushed, and the data before the lines.
      if (this.#end === lastFlush) this.#promised = endOfData(this.#tree)
      this.#apply(line.value as Change)
      this.#end = line.end
    }
    if (this.#end < bytes.length) this.#cut(bytes)
    // Lines of a worker that was killed count from here on, so they must be as safe as they look; and only these.
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

/** Changes behind a snapshot before another is made: a start reads as many. */
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

/** A checksum, a mark, JSON, and a line break; the checksum is of mark and JSON. */
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

/** Where the last line with the mark of a flush begins; -1 for none. */
function lastFlushIn(bytes: Uint8Array, start: number): number {
  for (let end = bytes.length - 1; end > start; ) {
    const before = bytes.lastIndexOf(newline, end - 1)
    if (lineAt(bytes, before + 1)?.mark === flushed) return before + 1
    end = before
  }
  return -1
}

/** Where the last byte that belongs to a file ends. */
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
