/** Size of a chunk in bytes. Equal to a Postgres page. */
export const chunkBytes = 8192

/** A range of contiguous chunks: the first chunk, and the number of chunks. */
export type Extent = readonly [start: number, count: number]

/** Free-space map of the data file. Code must not rely on the content of a free chunk, although it was zeroed. */
export class FreeChunks {
  /** Free extents in file order. Adjacent extents are merged. */
  #runs: Extent[] = []
  /** The first chunk after the highest allocated one. */
  #end = 0

  /**
   * Builds the map from the extents that are in use.
   *
   * @throws RangeError when two extents overlap
   */
  constructor(used: readonly Extent[] = []) {
    for (const [start, count] of used.toSorted(([a], [b]) => a - b)) {
      if (start < this.#end) throw new RangeError(`chunk ${start} is used twice`)
      if (start > this.#end) this.#runs.push([this.#end, start - this.#end])
      this.#end = start + count
    }
  }

  /** Length of the allocated part of the file, in chunks. */
  get end(): number {
    return this.#end
  }

  /**
   * Allocates one extent of up to `count` chunks, and at least one. Prefers the chunks at `after`, then the first free
   * extent that holds all `count`, then the end of the file.
   */
  take(count: number, after: number): Extent {
    if (after === this.#end) return this.#extend(count)
    const next = this.#runs.findIndex(([start]) => start === after)
    const found = next >= 0 ? next : this.#runs.findIndex(([, free]) => free >= count)
    const run = this.#runs[found]
    if (!run) return this.#extend(count)
    const [start, free] = run
    const taken = Math.min(count, free)
    if (taken < free) this.#runs[found] = [start + taken, free - taken]
    else this.#runs.splice(found, 1)
    return [start, taken]
  }

  give(extents: readonly Extent[]): void {
    for (const [start, count] of [...this.#runs.splice(0), ...extents].toSorted(([a], [b]) => a - b)) {
      const last = this.#runs.at(-1)
      if (last && last[0] + last[1] === start) this.#runs[this.#runs.length - 1] = [last[0], last[1] + count]
      else this.#runs.push([start, count])
    }
  }

  /** Removes free chunks at the end of the file. */
  trim(): void {
    const last = this.#runs.at(-1)
    if (!last || last[0] + last[1] !== this.#end) return
    this.#end = last[0]
    this.#runs.pop()
  }

  #extend(count: number): Extent {
    const start = this.#end
    this.#end += count
    return [start, count]
  }
}

/** Appends an extent. Merges it with the last one if the two are contiguous. */
export function joined(extents: readonly Extent[], [start, count]: Extent): Extent[] {
  const last = extents.at(-1)
  if (!last || last[0] + last[1] !== start) return [...extents, [start, count]]
  return [...extents.slice(0, -1), [last[0], last[1] + count]]
}

/** Splits the extents after `count` chunks. */
export function parted(extents: readonly Extent[], count: number): {kept: Extent[]; rest: Extent[]} {
  const [kept, rest]: [Extent[], Extent[]] = [[], []]
  let left = count
  for (const [start, length] of extents) {
    const here = Math.min(left, length)
    if (here > 0) kept.push([start, here])
    if (here < length) rest.push([start + here, length - here])
    left -= here
  }
  return {kept, rest}
}

export function chunksIn(extents: readonly Extent[]): number {
  return extents.reduce((sum, [, count]) => sum + count, 0)
}

/**
 * Maps `length` bytes from `position` of a file to contiguous pieces of the data file, in order. `at` is the offset in
 * the data file, `from` the offset in the requested range, `bytes` the length.
 */
export function* piecesOf(
  extents: readonly Extent[],
  position: number,
  length: number,
): Generator<{at: number; from: number; bytes: number}> {
  let before = 0
  let done = 0
  for (const [start, count] of extents) {
    const size = count * chunkBytes
    const inside = position + done - before
    if (inside < size) {
      const bytes = Math.min(size - inside, length - done)
      yield {at: start * chunkBytes + inside, from: done, bytes}
      done += bytes
      if (done === length) return
    }
    before += size
  }
}
