/** Reads a small file of the origin private file system. Returns undefined if it does not exist. */
export async function readText(folder: FileSystemDirectoryHandle, file: string): Promise<string | undefined> {
  try {
    const handle = await folder.getFileHandle(file)
    return await (await handle.getFile()).text()
  } catch (error) {
    if (isDomError(error, 'NotFoundError')) return undefined
    throw error
  }
}

export async function writeText(folder: FileSystemDirectoryHandle, file: string, text: string): Promise<void> {
  const access = await openAccess(folder, file)
  try {
    const bytes = new TextEncoder().encode(text)
    access.write(bytes, {at: 0})
    access.truncate(bytes.byteLength)
    access.flush()
  } finally {
    access.close()
  }
}

export async function openAccess(folder: FileSystemDirectoryHandle, file: string): Promise<FileSystemSyncAccessHandle> {
  return (await folder.getFileHandle(file, {create: true})).createSyncAccessHandle()
}

export async function listNames(folder: FileSystemDirectoryHandle, kind: FileSystemHandleKind): Promise<string[]> {
  const names: string[] = []
  for await (const [name, handle] of folder.entries()) if (handle.kind === kind) names.push(name)
  return names
}

export async function openFolder(root: FileSystemDirectoryHandle, path: string[]): Promise<FileSystemDirectoryHandle> {
  let folder = root
  for (const part of path) folder = await folder.getDirectoryHandle(part, {create: true})
  return folder
}

export function isDomError(error: unknown, ...names: string[]): boolean {
  return error instanceof DOMException && names.includes(error.name)
}
