import {closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync} from 'node:fs'
import type {Handle} from '../one-file/handle.ts'

/** A file of Node with the interface of a synchronous handle of the browser; made if it is not there. */
export function nodeHandle(path: string): Handle {
  // 'a' makes the file and would write at its end only, whatever the position.
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
