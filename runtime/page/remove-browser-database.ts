import {channelNames} from '../platform/locks.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {leftEdits} from './left-edits.ts'
import {firstPlace, type Place} from './people.ts'

/** Milliseconds to wait until other tabs close a database. After that, the next page that opens deletes it. */
const patienceMs = 15_000

export function databaseName(name: string, place: Place): string {
  return place === firstPlace ? name : `${name}~${place}`
}

/**
 * Deletes the database, its companion files and this page's saved edits, once no worker holds it. Returns false if it
 * is still in use.
 */
export async function removeBrowserDatabase(database: string): Promise<boolean> {
  const signal = AbortSignal.timeout(patienceMs)
  try {
    return await navigator.locks.request(channelNames.owner(database), {signal}, async () => {
      await removeFiles(database)
      await removeIndexedDb(database)
      leftEdits(database, () => localStorage).remove()
      return true
    })
  } catch {
    return false
  }
}

async function removeFiles(database: string): Promise<void> {
  const root = await navigator.storage.getDirectory().catch(() => null)
  const all = await root?.getDirectoryHandle('holdfast').catch(() => null)
  await all?.removeEntry(database, {recursive: true}).catch((error: unknown) => {
    if (!(error instanceof DOMException && error.name === 'NotFoundError')) throw error
  })
}

/** Includes databases that were created beside it after damage; their names end in a number. */
async function removeIndexedDb(database: string): Promise<void> {
  const own = new RegExp(`^(/pglite/)?holdfast-${escaped(database)}(-outbox|~\\d+)?$`)
  for (const {name} of await indexedDB.databases()) if (name && own.test(name)) await deleteDatabase(name)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function deleteDatabase(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name)
    request.onsuccess = () => resolve()
    request.onerror = () => reject(request.error)
    // Another page has it open. The deletion would wait for that page, with the lock held.
    request.onblocked = () => reject(new HoldfastError('database_locked', `database ${name}: another page has it open`))
  })
}
