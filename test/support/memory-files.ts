import type {Handle} from '../../runtime/storage/one-file/handle.ts'
import type {Files} from '../../runtime/storage/one-file/one-file-filesystem.ts'

export type Step = {file: number} & ({write: Uint8Array; at: number} | {truncate: number} | {flush: true})

/** Files in memory that keep every step that was made to them, so that a kill after any of them can be played. */
export class MemoryFiles {
  readonly steps: Step[] = []
  readonly handles: MemoryHandle[]
  /** Thrown by the next write or flush, once. */
  fault: {on: 'write' | 'flush'; error: Error} | null = null

  constructor(contents: readonly Uint8Array[] = [new Uint8Array(), new Uint8Array(), new Uint8Array()]) {
    this.handles = contents.map((bytes, file) => new MemoryHandle(this, file, bytes))
  }

  get files(): Files {
    const [data, first, second] = this.handles as [MemoryHandle, MemoryHandle, MemoryHandle]
    return {data, trees: [first, second]}
  }

  get contents(): Uint8Array[] {
    return this.handles.map(({contents}) => contents)
  }

  /** As they were after so many steps, the next one half made if it is a write that can be cut. */
  after(steps: number, torn = false): MemoryFiles {
    const then = new MemoryFiles()
    for (const step of this.steps.slice(0, steps)) then.#make(step)
    const next = this.steps[steps]
    if (torn && next && 'write' in next) then.#make({...next, write: next.write.subarray(0, next.write.length / 2)})
    return then
  }

  /** As a loss of power after so many steps may leave them: of what was not flushed, `kept` says what had reached the disk. */
  afterPowerLoss(steps: number, kept: (step: number) => boolean): MemoryFiles {
    const made = this.steps.slice(0, steps)
    const lastFlush = this.handles.map((_, file) => made.findLastIndex(step => step.file === file && 'flush' in step))
    const then = new MemoryFiles()
    made.forEach((step, i) => {
      if (i < (lastFlush[step.file] ?? -1) || kept(i)) then.#make(step)
    })
    return then
  }

  #make(step: Step): void {
    const handle = this.handles[step.file]
    if ('write' in step) handle?.write(step.write, {at: step.at})
    else if ('truncate' in step) handle?.truncate(step.truncate)
  }

  take(on: 'write' | 'flush'): void {
    if (this.fault?.on !== on) return
    const {error} = this.fault
    this.fault = null
    throw error
  }
}

class MemoryHandle implements Handle {
  #bytes: Uint8Array
  #size: number

  constructor(
    private readonly all: MemoryFiles,
    private readonly file: number,
    contents: Uint8Array,
  ) {
    this.#bytes = contents.slice()
    this.#size = contents.length
  }

  get contents(): Uint8Array {
    return this.#bytes.slice(0, this.#size)
  }

  getSize(): number {
    return this.#size
  }

  read(into: Uint8Array, {at}: {at: number}): number {
    const found = this.#bytes.subarray(at, Math.min(this.#size, at + into.length))
    into.set(found)
    return found.length
  }

  write(bytes: Uint8Array, {at}: {at: number}): number {
    this.all.take('write')
    this.#resize(Math.max(this.#size, at + bytes.length))
    this.#bytes.set(bytes, at)
    this.all.steps.push({file: this.file, write: bytes.slice(), at})
    return bytes.length
  }

  truncate(size: number): void {
    this.#resize(size)
    this.all.steps.push({file: this.file, truncate: size})
  }

  flush(): void {
    this.all.take('flush')
    this.all.steps.push({file: this.file, flush: true})
  }

  close(): void {}

  #resize(size: number): void {
    if (size < this.#size) this.#bytes.fill(0, size, this.#size)
    if (size > this.#bytes.length) {
      const more = new Uint8Array(size * 2)
      more.set(this.#bytes.subarray(0, this.#size))
      this.#bytes = more
    }
    this.#size = size
  }
}
