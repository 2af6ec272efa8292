import {expect} from 'vitest'
import {OneFileFilesystem} from '../../runtime/storage/one-file/one-file-filesystem.ts'
import type {MemoryFiles} from './memory-files.ts'

/** By name, a character a byte. */
export type Contents = Map<string, string>

export const opened = (files: MemoryFiles) => new OneFileFilesystem(files.files)

/** All of a file, a character a byte. */
export function read(fs: OneFileFilesystem, path: string): string {
  const fd = fs.open(path)
  const bytes = new Uint8Array(fs.fstat(fd).size)
  expect(fs.read(fd, bytes, 0, bytes.length, 0)).toBe(bytes.length)
  fs.close(fd)
  return Buffer.from(bytes).toString('latin1')
}

/** Of a file system without folders. */
export const contentsOf = (fs: OneFileFilesystem): Contents =>
  new Map(fs.readdir('/').map(path => [path, read(fs, path)] as const))

export const sorted = (contents: Contents) => [...contents].toSorted(([a], [b]) => (a < b ? -1 : 1))
