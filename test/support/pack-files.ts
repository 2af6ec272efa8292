import {createHash} from 'node:crypto'
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {dirname, join, relative} from 'node:path'
import {brotliCompressSync, brotliDecompressSync, constants} from 'node:zlib'

/** Contents by path; null for a folder. */
export type PackedFiles = Map<string, Uint8Array | null>

/** A page of Postgres; what is behind the last whole one of a file is kept as it is. */
const pageBytes = 8192

/** Of each path its size, null for a folder, and its pages: the number of one in the base, or -1 for the next own one. */
type Entry = [path: string, size: number | null, pages: number[]]

/** Every page of the files once: what databases of one version of Postgres have in common. */
export function packBase(files: PackedFiles): Buffer {
  const unique = new Map([...files.values()].flatMap(bytes => pagesOf(bytes)).map(page => [keyOf(page), page] as const))
  return compressed(Buffer.concat([...unique.values()].filter(page => page.length === pageBytes)))
}

/** The files as one blob; pages of the base are only named. */
export function packFiles(files: PackedFiles, base: Uint8Array): Buffer {
  const known = new Map(pagesOf(decompressed(base)).map((page, i) => [keyOf(page), i] as const))
  const own: Uint8Array[] = []
  const entries = [...files].map(([path, bytes]): Entry => {
    const pages = pagesOf(bytes).map(page => {
      const number = known.get(keyOf(page)) ?? -1
      if (number === -1) own.push(page)
      return number
    })
    return [path, bytes ? bytes.length : null, pages]
  })
  return compressed(Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...own]))
}

export function unpackFiles(packed: Uint8Array, base: Uint8Array): PackedFiles {
  const [all, shared] = [decompressed(packed), decompressed(base)]
  let at = all.indexOf('\n') + 1
  const entries = JSON.parse(all.subarray(0, at).toString()) as Entry[]
  const pageOf = (number: number, size: number): Uint8Array => {
    if (number >= 0) return shared.subarray(number * pageBytes, (number + 1) * pageBytes)
    at += size
    return all.subarray(at - size, at)
  }
  const contentsOf = (size: number, pages: readonly number[]) => {
    const parts = pages.map((number, i) => pageOf(number, Math.min(pageBytes, size - i * pageBytes)))
    return new Uint8Array(Buffer.concat(parts))
  }
  return new Map(entries.map(([path, size, pages]) => [path, size === null ? null : contentsOf(size, pages)] as const))
}

export function readFolder(folder: string): PackedFiles {
  const entries = readdirSync(folder, {recursive: true, withFileTypes: true})
  const kept = entries.filter(entry => entry.isFile() || entry.isDirectory())
  return new Map(
    kept.map(entry => {
      const path = join(entry.parentPath, entry.name)
      return [relative(folder, path), entry.isFile() ? readFileSync(path) : null] as const
    }),
  )
}

export function writeFolder(folder: string, files: PackedFiles): void {
  for (const [path, bytes] of files) {
    const place = join(folder, path)
    mkdirSync(bytes ? dirname(place) : place, {recursive: true, mode: 0o700})
    if (bytes) writeFileSync(place, bytes, {mode: 0o600})
  }
}

function pagesOf(bytes: Uint8Array | null): Uint8Array[] {
  const pages: Uint8Array[] = []
  for (let at = 0; bytes && at < bytes.length; at += pageBytes) pages.push(bytes.subarray(at, at + pageBytes))
  return pages
}

function keyOf(page: Uint8Array): string {
  return createHash('sha256').update(page).digest('hex')
}

function compressed(bytes: Uint8Array): Buffer {
  return brotliCompressSync(bytes, {
    params: {[constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS},
  })
}

function decompressed(bytes: Uint8Array): Buffer {
  return brotliDecompressSync(bytes)
}
