import {HoldfastError} from '../protocol/errors.ts'
import {memoryPeople, nobodyYet, type People, type PeopleIndex, peopleSchema} from './people.ts'

const databaseName = 'holdfast-people'

/**
 * Keeps the index of `name` in IndexedDB, which every page reads without a worker and which changes in one transaction
 * however many tabs there are. Where a browser forbids it nothing of a person outlives the page.
 */
export function browserPeople(name: string): PeopleIndex {
  if (typeof indexedDB === 'undefined') return memoryPeople()
  const channel = typeof BroadcastChannel === 'function' ? new BroadcastChannel(`holdfast:${name}:people`) : null
  const inMemory = memoryPeople()
  let opening: Promise<IDBDatabase | null> | null = null
  const opened = () => {
    opening ??= openDatabase()
    return opening
  }
  return {
    async read() {
      const database = await opened()
      return database ? peopleOf(await answered(store(database, 'readonly').get(name))) : inMemory.read()
    },
    async change(change) {
      const database = await opened()
      if (!database) return inMemory.change(change)
      const people = await changed(database, name, change)
      channel?.postMessage('changed')
      return people
    },
    onChange(listener) {
      // A page that was frozen or kept in the back/forward cache has missed what was said meanwhile.
      const shown = () => document.visibilityState === 'visible' && listener()
      if (channel) channel.onmessage = listener
      addEventListener('pageshow', listener)
      document.addEventListener('visibilitychange', shown)
      return () => {
        channel?.close()
        removeEventListener('pageshow', listener)
        document.removeEventListener('visibilitychange', shown)
      }
    },
  }
}

function changed(database: IDBDatabase, name: string, change: (people: People) => People): Promise<People> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction('people', 'readwrite', {durability: 'strict'})
    const people = transaction.objectStore('people')
    let next = nobodyYet
    const request = people.get(name)
    request.onsuccess = () => {
      next = change(peopleOf(request.result))
      people.put(next, name)
    }
    transaction.oncomplete = () => resolve(next)
    transaction.onabort = () => reject(transaction.error)
  })
}

function store(database: IDBDatabase, mode: IDBTransactionMode): IDBObjectStore {
  return database.transaction('people', mode).objectStore('people')
}

/** Null where the browser forbids storage altogether; any other failure must not look like an empty index. */
async function openDatabase(): Promise<IDBDatabase | null> {
  try {
    const request = indexedDB.open(databaseName, 1)
    request.onupgradeneeded = () => request.result.createObjectStore('people')
    return await answered(request)
  } catch (error) {
    if (error instanceof DOMException && ['SecurityError', 'InvalidStateError'].includes(error.name)) return null
    throw new HoldfastError('internal', 'The browser could not open its list of the people of this device.', {
      cause: error,
    })
  }
}

function peopleOf(stored: unknown): People {
  const people = peopleSchema.safeParse(stored)
  return people.success ? people.data : nobodyYet
}

function answered<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
