import type {InboxItem} from '../protocol/approval.ts'
import type {SignedIntent} from '../protocol/intent.ts'
import type {Inbox} from '../protocol/wire.ts'
import type {DeviceKey} from './approver-device.ts'

/** The state last read from the server, and when (this device's clock). */
export type SeenInbox = Inbox & {seenAt: number}

/**
 * A decision made here that the server has not confirmed. `refused`: why the server refused it, kept until the person
 * has read it.
 */
export type KeptDecision = {signed: SignedIntent; item: InboxItem; refused: string | null}

/** `declined`: the person does not want this device to decide offline, so no key is created automatically. */
export type KeptKey = DeviceKey | 'declined' | null

export type Remembered = {key: KeptKey; seen: SeenInbox | null; decisions: KeptDecision[]}

/**
 * What an approver's device stores across reloads. Guarantee: saved data is on disk when the promise resolves. Each
 * decision is a separate record, so two tabs never overwrite each other's.
 */
export interface InboxMemory {
  load(): Promise<Remembered>
  saveKey(key: KeptKey): Promise<void>
  saveSeen(seen: SeenInbox): Promise<void>
  saveDecision(decision: KeptDecision): Promise<void>
  dropDecision(nonce: string): Promise<void>
  /** Deletes the key, the list and the decisions. */
  clear(): Promise<void>
}

/** A memory that ends with the process. */
export function processInboxMemory(): InboxMemory {
  const decisions = new Map<string, KeptDecision>()
  let key: KeptKey = null
  let seen: SeenInbox | null = null
  return {
    load: async () => ({key, seen, decisions: [...decisions.values()]}),
    saveKey: async next => {
      key = next
    },
    saveSeen: async next => {
      seen = next
    },
    saveDecision: async decision => {
      decisions.set(decision.signed.intent.nonce, decision)
    },
    dropDecision: async nonce => {
      decisions.delete(nonce)
    },
    clear: async () => {
      decisions.clear()
      key = null
      seen = null
    },
  }
}

/** Keeps it in IndexedDB, which takes a key that nobody can read out. */
export function browserInboxMemory(name: string): InboxMemory {
  let opening: Promise<IDBDatabase> | null = null
  const opened = () => {
    opening ??= openDatabase(`holdfast-inbox-${name}`)
    return opening
  }
  const change = async (store: 'kept' | 'decisions', act: (store: IDBObjectStore) => void) => {
    const transaction = (await opened()).transaction(store, 'readwrite', {durability: 'strict'})
    act(transaction.objectStore(store))
    await finished(transaction)
  }
  return {
    load: async () => {
      const transaction = (await opened()).transaction(['kept', 'decisions'])
      const kept = transaction.objectStore('kept')
      const [key, seen, decisions] = await Promise.all([
        answered<KeptKey | undefined>(kept.get('key')),
        answered<SeenInbox | undefined>(kept.get('seen')),
        answered<KeptDecision[]>(transaction.objectStore('decisions').getAll()),
      ])
      return {key: key ?? null, seen: seen ?? null, decisions}
    },
    saveKey: key => change('kept', store => (key ? store.put(key, 'key') : store.delete('key'))),
    saveSeen: seen => change('kept', store => store.put(seen, 'seen')),
    saveDecision: decision => change('decisions', store => store.put(decision, decision.signed.intent.nonce)),
    dropDecision: nonce => change('decisions', store => store.delete(nonce)),
    clear: async () => {
      const transaction = (await opened()).transaction(['kept', 'decisions'], 'readwrite', {durability: 'strict'})
      transaction.objectStore('kept').clear()
      transaction.objectStore('decisions').clear()
      await finished(transaction)
    },
  }
}

function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1)
  request.onupgradeneeded = () => {
    request.result.createObjectStore('kept')
    request.result.createObjectStore('decisions')
  }
  return answered(request)
}

function answered<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

function finished(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error)
  })
}
