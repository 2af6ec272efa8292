import {HoldfastError} from '../protocol/errors.ts'
import {memoryPeople, nobodyYet, type People, type PeopleIndex, peopleSchema} from './people.ts'

const databaseName = 'holdfast-people'

/**
 * Stores the index of `name` in IndexedDB: every page can read it without a worker, and it changes in one transaction
 * across tabs. Where the browser forbids IndexedDB, the index is kept in memory.
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
      // A page that was frozen or in the back/forward cache has missed messages.
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

/** Null where the browser forbids storage. Any other failure throws, because it must not look like an empty index. */
async function openDatabase(): Promise<IDBDatabase | null> {
  try {
    const request = indexedDB.open(databaseName, 1)
    request.onupgradeneeded = () => request.result.createObjectStore('people')
    return await answered(request)
  } catch (error) {
    if (error instanceof DOMException && ['SecurityError', 'InvalidStateError'].includes(error.name)) return null
    throw new HoldfastError('internal', 'The list of people who use this device could not be opened.', {
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
