import {closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync} from 'node:fs'
import type {Handle} from '../one-file/handle.ts'

/** Opens a file of Node with the interface of a browser's synchronous handle. Creates the file if it does not exist. */
export function nodeHandle(path: string): Handle {
  // 'a' creates the file but ignores the position of a write, and 'r+' does not create it.
  closeSync(openSync(path, 'a'))
  const fd = openSync(path, 'r+')
  return {
    getSize: () => fstatSync(fd).size,
    read: (into, {at}) => readSync(fd, into, 0, into.length, at),
    write: (bytes, {at}) => writeSync(fd, bytes, 0, bytes.length, at),
    truncate: size => ftruncateSync(fd, size),
    flush: () => fsyncSync(fd),
    close: () => closeSync(fd),
  }
}
