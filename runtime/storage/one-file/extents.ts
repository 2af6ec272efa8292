/** What the file is divided into, bytes: a page of Postgres. */
export const chunkBytes = 8192

/** Chunks that follow each other in the file: the first, and how many. */
export type Extent = readonly [start: number, count: number]

/** Which chunks of the file nobody uses; nobody relies on what they hold, though it was wiped. */
export class FreeChunks {
  /** In the order of the file, none touching the next. */
  #runs: Extent[] = []
  /** The first chunk behind all that were ever used. */
  #end = 0

  /**
   * All that is not in use.
   *
   * @throws RangeError when a chunk is used twice
   */
  constructor(used: readonly Extent[] = []) {
    for (const [start, count] of used.toSorted(([a], [b]) => a - b)) {
      if (start < this.#end) throw new RangeError(`chunk ${start} is used twice`)
      if (start > this.#end) this.#runs.push([this.#end, start - this.#end])
      this.#end = start + count
    }
  }

  /** Chunks that have a place in the file. */
  get end(): number {
    return this.#end
  }

  /** So many chunks, or at least one: those that follow `after` if they can be had, else wherever all find room. */
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

  /** Lets the file end before the chunks at its end that nobody uses. */
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

/** With one more extent, which becomes part of the last one where it follows it. */
export function joined(extents: readonly Extent[], [start, count]: Extent): Extent[] {
  const last = extents.at(-1)
  if (!last || last[0] + last[1] !== start) return [...extents, [start, count]]
  return [...extents.slice(0, -1), [last[0], last[1] + count]]
}

/** Parted behind so many chunks. */
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

/** Where the bytes from `position` on lie: pieces of the file, one after the other. */
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
