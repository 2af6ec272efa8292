/** TypeScript declares these for workers only, and this project is compiled once for page and worker. */
interface FileSystemSyncAccessHandle {
  getSize(): number
  read(into: Uint8Array, options?: {at: number}): number
  write(bytes: Uint8Array, options?: {at: number}): number
  truncate(size: number): void
  flush(): void
  close(): void
}

interface FileSystemFileHandle {
  /** `mode` is known to Chromium; elsewhere a handle is always exclusive. */
  createSyncAccessHandle(options?: {
    mode: 'readwrite' | 'read-only' | 'readwrite-unsafe'
  }): Promise<FileSystemSyncAccessHandle>
}
