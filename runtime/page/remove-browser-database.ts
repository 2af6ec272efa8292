import {channelNames} from '../platform/locks.ts'
import {leftEdits} from './left-edits.ts'
import {firstPlace, type Place} from './people.ts'

/** Milliseconds that other tabs get to let go of a database; after that it is deleted by the next page that opens. */
const patienceMs = 15_000

export function databaseName(name: string, place: Place): string {
  return place === firstPlace ? name : `${name}~${place}`
}

/** Deletes the database, what is beside it and this page's edits for it, once no worker holds it any more. */
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

/** With the ones that were begun beside it after damage, which have a number behind the name. */
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
  })
}
