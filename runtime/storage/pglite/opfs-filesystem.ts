import {OpfsAhpFS} from '@electric-sql/pglite/opfs-ahp'
import {HoldfastError} from '../../protocol/errors.ts'
import {openFolder} from './opfs-files.ts'
import {spareFile} from './opfs-state.ts'

/** The prepared directory has 374 files, and each takes a handle, which reserves quota whether used or not. */
const poolSizes = {initialPoolSize: 480, maintainedPoolSize: 100}

/** A handle that another worker still holds, or that there is no room for, makes the stock code wait for ever. */
const openingMs = 8_000
const syncingMs = 30_000

/** WASI's numbers, which Postgres knows as "no space left on device" and "input/output error". */
const errno = {ENOSPC: 51, EIO: 29}

type Node = OpfsAhpFS['state']['root'] | OpfsAhpFS['state']['root']['children'][string]

/**
 * PGlite's pool of OPFS handles, made to fail where it would wait or open half, to survive its own snapshots, and to
 * tell Postgres of a full disk in Postgres' own terms, so that a statement is refused instead of the machine broken.
 */
export class OpfsFilesystem extends OpfsAhpFS {
  /** Code and assets are loaded, so whatever fails from here on is the data's fault. */
  booting = false
  readonly #path: string[]
  #spare: FileSystemSyncAccessHandle | undefined

  constructor(path: string[]) {
    super(path.join('/'), poolSizes)
    this.#path = path
  }

  override async init(...args: Parameters<OpfsAhpFS['init']>): ReturnType<OpfsAhpFS['init']> {
    const spare = await (await openFolder(this.#path)).getFileHandle(spareFile, {create: true})
    this.#spare = await spare.createSyncAccessHandle()
    const opening = super.init(...args)
    const ready = await within(openingMs, opening).catch(cause => {
      // It may be slow rather than stuck, and what it still takes after we gave up must be let go of too.
      opening.then(() => this.abandon()).catch(() => {})
      throw cause instanceof TooLate ? busy('its files took too long to open', cause) : cause
    })
    this.#checkHandles(this.state.root, '')
    return ready
  }

  override async initialSyncFs(): Promise<void> {
    this.booting = true
    await super.initialSyncFs()
  }

  /** New handles, for which there may be no room, would be waited for for ever. */
  override async syncToFs(relaxedDurability?: boolean): Promise<void> {
    await within(syncingMs, super.syncToFs(relaxedDurability))
  }

  /** The stock code truncates the tree before it writes it anew; killed in between, it would lose everything. */
  override async checkpointState(): Promise<void> {
    this.#spare?.write(new TextEncoder().encode(JSON.stringify(this.state)), {at: 0})
    this.#spare?.flush()
    await super.checkpointState()
    this.#spare?.truncate(0)
  }

  override write(...args: Parameters<OpfsAhpFS['write']>): number {
    return understood(() => super.write(...args))
  }

  override mkdir(...args: Parameters<OpfsAhpFS['mkdir']>): void {
    understood(() => super.mkdir(...args))
  }

  override rename(...args: Parameters<OpfsAhpFS['rename']>): void {
    understood(() => super.rename(...args))
  }

  override truncate(...args: Parameters<OpfsAhpFS['truncate']>): void {
    understood(() => super.truncate(...args))
  }

  /** A new file takes a handle from the pool, which is filled up again only after the statement or its transaction. */
  override writeFile(...args: Parameters<OpfsAhpFS['writeFile']>): void {
    if (this.state.pool.length === 0 && !this.#exists(args[0])) throw failed(errno.ENOSPC, 'no handles left')
    understood(() => super.writeFile(...args))
  }

  override async closeFs(): Promise<void> {
    this.#spare?.close()
    await super.closeFs()
  }

  /** For an open that failed halfway: lets go of whatever was taken so far, so that the next try can have it. */
  async abandon(): Promise<void> {
    await this.closeFs().catch(() => {})
  }

  #exists(path: string): boolean {
    try {
      this.lstat(path)
      return true
    } catch {
      return false
    }
  }

  #checkHandles(node: Node, path: string): void {
    if (node.type === 'directory') {
      for (const [name, child] of Object.entries(node.children)) this.#checkHandles(child, `${path}/${name}`)
      return
    }
    try {
      this.lstat(path)
    } catch (cause) {
      throw busy(`${path} is still held elsewhere`, cause)
    }
  }
}

class TooLate extends Error {}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TooLate(`no answer within ${ms} ms`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** What comes without a number would go through Postgres as an exception, and leave it broken. */
function understood<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof DOMException)) throw error
    throw failed(error.name === 'QuotaExceededError' ? errno.ENOSPC : errno.EIO, error.message)
  }
}

function failed(code: number, message: string): Error {
  return Object.assign(new Error(message), {code})
}

export function busy(what: string, cause?: unknown): HoldfastError {
  return new HoldfastError('database_locked', `Another worker holds this database: ${what}.`, {cause})
}
