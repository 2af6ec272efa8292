import type {Page} from 'playwright-core'

/**
 * Where in the storage of the page's origin these words stand, byte by byte: every file of the private file system,
 * every record of every IndexedDB, local and session storage, every cache. Text that is stored as UTF-8, as UTF-16 or in
 * base64 is found.
 */
export async function placesWith(page: Page, words: string): Promise<string[]> {
  const needles = [
    Buffer.from(words),
    Buffer.from(words, 'utf16le'),
    ...[0, 1, 2].map(offset => {
      const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(words)]).toString('base64')
      return Buffer.from(encoded.slice(offset === 0 ? 0 : 4, -4))
    }),
  ].map(bytes => bytes.toString('latin1'))
  return await page.evaluate(async needles => {
    const found: string[] = []
    const look = (place: string, bytes: Uint8Array) => {
      const text = new TextDecoder('latin1').decode(bytes)
      if (needles.some(needle => text.includes(needle))) found.push(place)
    }
    const lookText = (place: string, text: string) => look(place, new TextEncoder().encode(text))

    async function files(folder: FileSystemDirectoryHandle, path: string): Promise<void> {
      for await (const [name, handle] of folder.entries()) {
        const place = `${path}/${name}`
        if (handle.kind === 'directory') await files(handle as FileSystemDirectoryHandle, place)
        else look(place, new Uint8Array(await (await (handle as FileSystemFileHandle).getFile()).arrayBuffer()))
      }
    }

    const answered = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })

    async function records(name: string): Promise<void> {
      const db = await answered(indexedDB.open(name))
      for (const store of db.objectStoreNames) {
        const all = await answered(db.transaction(store).objectStore(store).getAll())
        lookText(`indexeddb/${name}/${store}`, JSON.stringify(all))
      }
      db.close()
    }

    await files(await navigator.storage.getDirectory(), 'opfs')
    for (const {name} of await indexedDB.databases()) if (name) await records(name)
    for (const [place, storage] of Object.entries({localStorage, sessionStorage})) {
      lookText(place, JSON.stringify({...storage}))
    }
    for (const name of await caches.keys()) {
      const cache = await caches.open(name)
      for (const request of await cache.keys()) {
        const response = await cache.match(request)
        if (response) look(`cache/${request.url}`, new Uint8Array(await response.arrayBuffer()))
      }
    }
    return found
  }, needles)
}
