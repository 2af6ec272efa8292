import {createHash} from 'node:crypto'
import {readFile} from 'node:fs/promises'
import {join} from 'node:path'

type Entry = {url: string; revision: string | null; size: number; integrity?: string}

/**
 * Gives each file that the service worker keeps the hash of its bytes. The browser refuses any other answer, such as the
 * login page of a proxy that comes with status 200: nothing wrong is ever kept, and a file that is missing from the cache
 * is fetched, checked and put back.
 */
export function withIntegrity(folder: string) {
  return async (entries: Entry[]) => {
    const manifest = await Promise.all(
      entries.map(async entry => {
        const bytes = await readFile(join(folder, entry.url)).catch(() => null)
        if (!bytes) return entry
        return {...entry, integrity: `sha256-${createHash('sha256').update(bytes).digest('base64')}`}
      }),
    )
    return {manifest, warnings: []}
  }
}
