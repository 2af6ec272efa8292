/** The synchronous file operations of a `FileSystemSyncAccessHandle`. */
export interface Handle {
  getSize(): number
  /** Returns the number of bytes read, which is smaller than requested at the end of the file. */
  read(into: Uint8Array, options: {at: number}): number
  write(bytes: Uint8Array, options: {at: number}): number
  truncate(size: number): void
  flush(): void
  close(): void
}

/**
 * Writes all bytes. A single `write` may be partial when the disk is full.
 *
 * @throws DOMException `QuotaExceededError` when the handle accepts no more bytes
 */
export function writeAll(handle: Handle, bytes: Uint8Array, at: number): void {
  let done = 0
  while (done < bytes.length) {
    const written = handle.write(bytes.subarray(done), {at: at + done})
    if (written === 0) throw new DOMException('nothing more was taken', 'QuotaExceededError')
    done += written
  }
}

/** Fills `bytes` from offset `at`. Returns the number of bytes read, which is smaller at the end of the file. */
export function readInto(handle: Handle, bytes: Uint8Array, at: number): number {
  let done = 0
  while (done < bytes.length) {
    const read = handle.read(bytes.subarray(done), {at: at + done})
    if (read === 0) break
    done += read
  }
  return done
}

export function readAll(handle: Handle): Uint8Array {
  const bytes = new Uint8Array(handle.getSize())
  return bytes.subarray(0, readInto(handle, bytes, 0))
}
