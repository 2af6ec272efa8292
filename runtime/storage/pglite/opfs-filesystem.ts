import {OpfsAhpFS} from '@electric-sql/pglite/opfs-ahp'
import {HoldfastError} from '../../protocol/errors.ts'
import {openFolder} from './opfs-files.ts'
import {spareFile} from './opfs-state.ts'

/** The prepared directory has 374 files, and each takes a handle, which reserves quota whether used or not. */
const poolSizes = {initialPoolSize: 480, maintainedPoolSize: 100}

/** A handle that another worker still holds makes the stock code wait for ever. */
const initMs = 8_000

type Node = OpfsAhpFS['state']['root'] | OpfsAhpFS['state']['root']['children'][string]

/** PGlite's pool of OPFS handles, made to fail where it would wait or open half, and to survive its own snapshots. */
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
    const ready = await Promise.race([opening, new Promise<void>(resolve => setTimeout(resolve, initMs))])
    if (!ready) {
      // It may be slow rather than stuck, and what it still takes after we gave up must be let go of too.
      opening.then(() => this.abandon()).catch(() => {})
      throw busy('its files took too long to open')
    }
    this.#checkHandles(this.state.root, '')
    return ready
  }

  override async initialSyncFs(): Promise<void> {
    this.booting = true
    await super.initialSyncFs()
  }

  /** The stock code truncates the tree before it writes it anew; killed in between, it would lose everything. */
  override async checkpointState(): Promise<void> {
    this.#spare?.write(new TextEncoder().encode(JSON.stringify(this.state)), {at: 0})
    this.#spare?.flush()
    const done = super.checkpointState()
    this.#spare?.truncate(0)
    await done
  }

  override async closeFs(): Promise<void> {
    this.#spare?.close()
    await super.closeFs()
  }

  /** For an open that failed halfway: lets go of whatever was taken so far, so that the next try can have it. */
  async abandon(): Promise<void> {
    await this.closeFs().catch(() => {})
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

export function busy(what: string, cause?: unknown): HoldfastError {
  return new HoldfastError('database_locked', `Another worker holds this database: ${what}.`, {cause})
}
