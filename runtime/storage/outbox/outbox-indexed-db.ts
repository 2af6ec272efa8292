import type {OutboxStorage} from './outbox-storage.ts'

const [store, notes] = ['records', 'notes']

/** An outbox with one additional value, the note. */
export interface NotedOutbox extends OutboxStorage {
  note(): Promise<unknown>
  writeNote(value: unknown): Promise<void>
  /** Calls `listener` when the database was closed because the browser or another page deletes it. */
  onClosed(listener: () => void): void
}

/** Opens an outbox in a separate IndexedDB database, for browsers whose OPFS has no synchronous handles. */
export async function outboxInIndexedDb(name: string): Promise<NotedOutbox> {
  const opening = indexedDB.open(name, 1)
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(store, {autoIncrement: true})
    opening.result.createObjectStore(notes)
  }
  const db = await settled(opening)
  let size = 0

  const writing = () => {
    const transaction = db.transaction(store, 'readwrite', {durability: 'strict'})
    return {records: transaction.objectStore(store), done: completed(transaction)}
  }

  return {
    get size() {
      return size
    },
    async load() {
      const found: unknown[] = await settled(db.transaction(store).objectStore(store).getAll())
      const records = found.filter(record => record instanceof Uint8Array)
      size = records.reduce((sum, {length}) => sum + length, 0)
      return {records, unreadable: found.length - records.length}
    },
    async append(record) {
      const {records, done} = writing()
      records.add(record)
      await done
      size += record.length
    },
    async replace(replacement) {
      const {records, done} = writing()
      records.clear()
      for (const record of replacement) records.add(record)
      await done
      size = replacement.reduce((sum, {length}) => sum + length, 0)
    },
    note: () => settled(db.transaction(notes).objectStore(notes).get('note')),
    async writeNote(value) {
      const transaction = db.transaction(notes, 'readwrite', {durability: 'strict'})
      transaction.objectStore(notes).put(value, 'note')
      await completed(transaction)
    },
    onClosed(listener) {
      db.onclose = listener
      // An open connection blocks the deletion and all later `open` requests.
      db.onversionchange = () => {
        db.close()
        listener()
      }
    },
    async close() {
      db.close()
    },
  }
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

function completed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error)
  })
}
