import type {Handle} from '../../runtime/storage/one-file/handle.ts'

/** What a step on a file is, for a fault that strikes some of them. */
export type FileStep = {path: string; do: 'open' | 'read' | 'write' | 'truncate' | 'flush'}
/** Throws what the step is to fail with. */
export type Fault = (step: FileStep) => void

/**
 * An origin private file system in memory, for one process: files with exclusive synchronous handles, which can be
 * cut, flipped, emptied and removed while they are open, and fail at any step.
 */
export class MemoryOpfs {
  /** By path, without a slash at the start. */
  readonly files = new Map<string, MemoryFile>()
  fault: Fault = () => undefined
  #clock = 0

  /** Everything as it is now; handles stay with the original. */
  copy(): MemoryOpfs {
    const copy = new MemoryOpfs()
    for (const [path, file] of this.files) copy.files.set(path, new MemoryFile(file.contents, file.changedAt))
    copy.#clock = this.#clock
    return copy
  }

  get root(): FileSystemDirectoryHandle {
    return this.#folder('')
  }

  /** As a browser does that clears the data of a site: names go, open handles stay. */
  clear(): void {
    this.files.clear()
  }

  /** A worker that is gone holds nothing. */
  releaseAll(): void {
    for (const file of this.files.values()) file.isOpen = false
  }

  bytes(path: string): Uint8Array {
    const file = this.files.get(path)
    if (!file) throw new Error(`there is no file ${path}`)
    return file.contents
  }

  overwrite(path: string, bytes: Uint8Array): void {
    this.files.set(path, new MemoryFile(bytes, ++this.#clock))
  }

  #folder(path: string): FileSystemDirectoryHandle {
    const under = path === '' ? '' : `${path}/`
    const names = () => {
      const found = new Map<string, 'file' | 'directory'>()
      for (const file of this.files.keys()) {
        if (!file.startsWith(under)) continue
        const [name = '', ...rest] = file.slice(under.length).split('/')
        found.set(name, rest.length > 0 ? 'directory' : 'file')
      }
      return found
    }
    const handle = {
      kind: 'directory',
      name: path.split('/').at(-1) ?? '',
      getDirectoryHandle: async (name: string, {create = false} = {}) => {
        if (!create && names().get(name) !== 'directory') throw missing(under + name)
        return this.#folder(under + name)
      },
      getFileHandle: async (name: string, {create = false} = {}) => {
        if (!this.files.has(under + name)) {
          if (!create) throw missing(under + name)
          this.files.set(under + name, new MemoryFile(new Uint8Array(), ++this.#clock))
        }
        return this.#file(under + name)
      },
      removeEntry: async (name: string) => {
        const gone = [...this.files.keys()].filter(file => file === under + name || file.startsWith(`${under}${name}/`))
        if (gone.length === 0) throw missing(under + name)
        for (const file of gone) {
          if (this.files.get(file)?.isOpen) throw new DOMException('in use', 'NoModificationAllowedError')
          this.files.delete(file)
        }
      },
      entries: async function* () {
        for (const [name, kind] of names()) yield [name, {kind}] as const
      },
    }
    return handle as unknown as FileSystemDirectoryHandle
  }

  #file(path: string): FileSystemFileHandle {
    const handle = {
      kind: 'file',
      name: path.split('/').at(-1) ?? '',
      getFile: async () => {
        const file = this.files.get(path)
        if (!file) throw missing(path)
        const contents = file.contents.slice()
        return Object.assign(new Blob([contents]), {lastModified: file.changedAt})
      },
      createSyncAccessHandle: async ({mode}: {mode?: string} = {}) => {
        this.fault({path, do: 'open'})
        const file = this.files.get(path)
        if (!file) throw missing(path)
        if (mode === 'readwrite-unsafe') return this.#access(path, file)
        if (file.isOpen) throw new DOMException('in use', 'NoModificationAllowedError')
        file.isOpen = true
        return this.#access(path, file)
      },
    }
    return handle as unknown as FileSystemFileHandle
  }

  #access(path: string, file: MemoryFile): Handle {
    const step = (what: FileStep['do']) => {
      this.fault({path, do: what})
      if (what === 'write' || what === 'truncate') file.changedAt = ++this.#clock
    }
    return {
      getSize: () => file.size,
      read: (into, {at}) => {
        step('read')
        return file.read(into, at)
      },
      write: (bytes, {at}) => {
        step('write')
        return file.write(bytes, at)
      },
      truncate: size => {
        step('truncate')
        file.resize(size)
      },
      flush: () => step('flush'),
      close: () => {
        file.isOpen = false
      },
    }
  }
}

class MemoryFile {
  #bytes: Uint8Array
  size: number
  isOpen = false

  constructor(
    contents: Uint8Array,
    public changedAt: number,
  ) {
    this.#bytes = contents.slice()
    this.size = contents.length
  }

  get contents(): Uint8Array {
    return this.#bytes.subarray(0, this.size)
  }

  read(into: Uint8Array, at: number): number {
    const found = this.#bytes.subarray(at, Math.min(this.size, at + into.length))
    into.set(found)
    return found.length
  }

  write(bytes: Uint8Array, at: number): number {
    this.resize(Math.max(this.size, at + bytes.length))
    this.#bytes.set(bytes, at)
    return bytes.length
  }

  resize(size: number): void {
    if (size < this.size) this.#bytes.fill(0, size, this.size)
    if (size > this.#bytes.length) {
      const more = new Uint8Array(size * 2)
      more.set(this.contents)
      this.#bytes = more
    }
    this.size = size
  }
}

function missing(path: string): DOMException {
  return new DOMException(`${path} is not there`, 'NotFoundError')
}
