import {chunksIn, type Extent, parted} from './extents.ts'

/** Error numbers of the C library that Postgres is compiled against (WASI). */
export const errno = {EBADF: 8, EEXIST: 20, EIO: 29, EISDIR: 31, ENOENT: 44, ENOSPC: 51, ENOTDIR: 54, ENOTEMPTY: 55}

export function failed(code: number, message: string): Error {
  return Object.assign(new Error(message), {code})
}

export type Folder = Entry & {kind: 'folder'; children: Map<string, Node>}
export type File = Entry & {kind: 'file'; size: number; extents: readonly Extent[]}
export type Node = Folder | File
type Entry = {id: number; name: string; parent: Folder | null; mode: number}

/** One change of the tree, as stored in the log. A `move` also removes its target, so that a rename is atomic. */
export type Change =
  | ['folder' | 'file', id: number, parent: number, name: string, mode: number]
  | ['move', id: number, parent: number, name: string]
  | ['remove', id: number]
  | ['mode', id: number, mode: number]
  | ['size', id: number, size: number]
  | ['extents', id: number, extents: readonly Extent[]]
  | ['cut', id: number, size: number, extents: readonly Extent[]]
  | ['wiped', ids: readonly number[]]

type Listed = readonly [
  kind: Node['kind'],
  id: number,
  parent: number,
  name: string,
  mode: number,
  size?: number,
  extents?: readonly Extent[],
]

/** A tree as one value. Parents precede their children. */
export type Snapshot = {
  rootMode: number
  nodes: readonly Listed[]
  released: readonly (readonly [id: number, extents: readonly Extent[]])[]
}

const rootId = 0

/**
 * The files and folders, and the extents of each file in the data file. All changes go through `apply`, both live ones
 * and those replayed from the log.
 */
export class FileTree {
  readonly root: Folder = {kind: 'folder', id: rootId, name: '', parent: null, mode: 0o40700, children: new Map()}
  readonly #nodes = new Map<number, Node>([[rootId, this.root]])
  /** Extents freed by removal or truncation, by file id. They must be zeroed before they are allocated again. */
  readonly released = new Map<number, readonly Extent[]>()
  #nextId = rootId + 1

  constructor(snapshot?: Snapshot) {
    if (snapshot) this.root.mode = snapshot.rootMode
    for (const [kind, id, parent, name, mode, size, extents] of snapshot?.nodes ?? []) {
      this.apply([kind, id, parent, name, mode])
      if (size !== undefined) this.apply(['size', id, size])
      if (extents) this.apply(['extents', id, extents])
    }
    for (const [id, extents] of snapshot?.released ?? []) this.released.set(id, extents)
  }

  get snapshot(): Snapshot {
    const below = (folder: Folder): Listed[] =>
      [...folder.children.values()].flatMap(node => {
        const {kind, id, name, mode} = node
        const listed = [kind, id, folder.id, name, mode] as const
        return node.kind === 'folder' ? [listed, ...below(node)] : [[...listed, node.size, node.extents] as const]
      })
    return {rootMode: this.root.mode, nodes: below(this.root), released: [...this.released]}
  }

  get files(): File[] {
    return [...this.#nodes.values()].filter(node => node.kind === 'file')
  }

  get isEmpty(): boolean {
    return this.root.children.size === 0
  }

  newId(): number {
    return this.#nextId++
  }

  /** False after the node was removed. */
  holds(node: Node): boolean {
    return this.#nodes.get(node.id) === node
  }

  /** @throws an error with code `ENOENT` if the path does not exist, or `ENOTDIR` if a parent is a file */
  find(path: string): Node {
    let node: Node = this.root
    for (const name of path.split('/').filter(Boolean)) {
      const child: Node | undefined = asFolder(node).children.get(name)
      if (!child) throw failed(errno.ENOENT, `${path} is not there`)
      node = child
    }
    return node
  }

  folder(path: string): Folder {
    return asFolder(this.find(path))
  }

  file(path: string): File {
    const node = this.find(path)
    if (node.kind === 'folder') throw failed(errno.EISDIR, `${path} is a folder`)
    return node
  }

  /** @throws TypeError when the change does not fit the tree, which means that it is not from the log of this tree */
  apply(change: Change): void {
    switch (change[0]) {
      case 'folder':
      case 'file':
        this.#make(change)
        break
      case 'move': {
        const [, id, parent, name] = change
        const node = this.#node(id)
        const folder = this.#folder(parent)
        const replaced = folder.children.get(name)
        if (replaced && replaced !== node) this.#remove(replaced)
        node.parent?.children.delete(node.name)
        Object.assign(node, {name, parent: folder})
        folder.children.set(name, node)
        break
      }
      case 'remove':
        this.#remove(this.#node(change[1]))
        break
      case 'mode':
        this.#node(change[1]).mode = change[2]
        break
      case 'size':
        this.#file(change[1]).size = change[2]
        break
      case 'extents':
        this.#file(change[1]).extents = change[2]
        break
      case 'cut': {
        const [, id, size, extents] = change
        const file = this.#file(id)
        this.#release(id, parted(file.extents, chunksIn(extents)).rest)
        Object.assign(file, {size, extents})
        break
      }
      case 'wiped':
        for (const id of change[1]) this.released.delete(id)
    }
  }

  #make([kind, id, parent, name, mode]: Change & ['folder' | 'file', ...unknown[]]): void {
    const folder = this.#folder(parent)
    if (this.#nodes.has(id) || folder.children.has(name)) throw new TypeError(`${name} is there already`)
    const entry = {id, name, parent: folder, mode}
    const node: Node =
      kind === 'folder' ? {...entry, kind, children: new Map()} : {...entry, kind, size: 0, extents: []}
    this.#nodes.set(id, node)
    folder.children.set(name, node)
    this.#nextId = Math.max(this.#nextId, id + 1)
  }

  #remove(node: Node): void {
    node.parent?.children.delete(node.name)
    this.#nodes.delete(node.id)
    if (node.kind === 'file') this.#release(node.id, node.extents)
  }

  #release(id: number, extents: readonly Extent[]): void {
    if (extents.length > 0) this.released.set(id, [...(this.released.get(id) ?? []), ...extents])
  }

  #node(id: number): Node {
    const node = this.#nodes.get(id)
    if (!node) throw new TypeError(`there is no file ${id}`)
    return node
  }

  #folder(id: number): Folder {
    const node = this.#node(id)
    if (node.kind !== 'folder') throw new TypeError(`${node.name} is a file`)
    return node
  }

  #file(id: number): File {
    const node = this.#node(id)
    if (node.kind !== 'file') throw new TypeError(`${node.name} is a folder`)
    return node
  }
}

function asFolder(node: Node): Folder {
  if (node.kind === 'folder') return node
  throw failed(errno.ENOTDIR, `${node.name} is a file`)
}
