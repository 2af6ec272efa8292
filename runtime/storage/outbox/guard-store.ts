import {toBase64} from '../../protocol/base64.ts'
import {blobsOf} from '../../protocol/blob.ts'
import type {Envelope, LoggedEvent} from '../../protocol/event.ts'
import type {EventId, SessionId} from '../../protocol/ids.ts'
import type {DeviceStore, UnitOfWork} from '../device-store.ts'
import type {OutboxRecord, StoredEvent} from './outbox-record.ts'

/** Where the records of a store go. */
export interface Guard {
  /** Resolves when the records are durable. */
  write(records: readonly OutboxRecord[], options: {flush: boolean}): Promise<void>
  /** What was dropped is in no file any more. */
  rewrite(): Promise<void>
  holds(event: EventId): boolean
}

/**
 * The same store, whose transactions are acknowledged only after what the server lacks of them is in the outbox too. When
 * the outbox cannot be written, the outcome of the transaction is unknown to the caller, and nothing more is written. [LOG-9]
 */
export function guardStore(store: DeviceStore, guard: Guard, device: () => Promise<OutboxRecord>): DeviceStore {
  return {
    ...store,
    setOnline: async online => {
      await store.setOnline(online)
      await guard.write([await device()], {flush: true})
    },
    setOwner: async owner => {
      await store.setOwner(owner)
      await guard.write([await device()], {flush: true})
    },
    transaction: async work => {
      const written = new Written(guard)
      const result = await store.transaction(unit => work(watched(unit, written)))
      await guard.write(await written.records(store), {flush: written.isNew})
      if (written.hasDropped) await guard.rewrite()
      return result
    },
    markBlob: async (session, id, state) => {
      await store.markBlob(session, id, state)
      if (state === 'sent') await guard.write([{type: 'blob_sent', session, id}], {flush: false})
    },
  }
}

/** What one transaction has written that concerns the outbox. */
class Written {
  readonly #records: OutboxRecord[] = []
  readonly #appended: LoggedEvent[] = []
  readonly #blobs = new Set<string>()
  readonly #again = new Set<SessionId>()
  isNew = false
  hasDropped = false

  constructor(private readonly guard: Pick<Guard, 'holds'>) {}

  add(record: OutboxRecord): void {
    this.#records.push(record)
    if (record.type !== 'confirmed') this.isNew = true
    if (record.type === 'dropped') this.hasDropped = true
    if (record.type === 'blob') this.#blobs.add(record.session + record.id)
  }

  append(events: readonly LoggedEvent[], head: number): void {
    this.#appended.push(...events)
    for (const [session, some] of bySession(events)) {
      this.add({type: 'events', session, head, events: some.map(storedEvent)})
    }
  }

  /** Of a page of another device's events only the head is new. */
  confirm(events: readonly LoggedEvent[]): void {
    for (const [session, some] of bySession(events)) {
      const head = Math.max(...some.map(({seq}) => seq ?? 0))
      const ids = some.map(({id}) => id).filter(id => this.guard.holds(id))
      this.add({type: 'confirmed', session, head, deviceSeq: 0, events: ids})
    }
  }

  /** What the outbox holds of this session is written anew, from the database. */
  renew(session: SessionId): void {
    this.#again.add(session)
    this.hasDropped = true
  }

  async records(store: DeviceStore): Promise<OutboxRecord[]> {
    const renewed: OutboxRecord[] = []
    for (const session of this.#again) renewed.push(...(await recordsOfSession(store, session)))
    return [...(await this.#copiedBlobs(store)), ...this.#records, ...renewed]
  }

  /** An event may name bytes that the store has copied from another session. */
  async #copiedBlobs(store: DeviceStore): Promise<OutboxRecord[]> {
    const copied: OutboxRecord[] = []
    for (const event of this.#appended) {
      for (const {$blob} of blobsOf(event)) {
        if (this.#blobs.has(event.session + $blob)) continue
        const bytes = await store.blob(event.session, $blob)
        if (bytes) copied.push({type: 'blob', session: event.session, id: $blob, bytes: toBase64(bytes)})
      }
    }
    return copied
  }
}

function watched(unit: UnitOfWork, written: Written): UnitOfWork {
  return {
    ...unit,
    append: async (events, head) => {
      await unit.append(events, head)
      written.append(events, head)
    },
    confirm: async events => {
      await unit.confirm(events)
      written.confirm(events)
    },
    renumber: async (session, events) => {
      await unit.renumber(session, events)
      written.renew(session)
    },
    reject: async (id, reason, head) => {
      const [event] = await unit.byIds([id])
      await unit.reject(id, reason, head)
      if (event) written.add({type: 'refused', session: event.session, events: [id], reason, head, divergence: null})
    },
    setAside: async work => {
      await unit.setAside(work)
      const {session, events, reason, head, divergence} = work
      written.add({type: 'refused', session, events: [...events], reason, head, divergence})
    },
    resolve: async (divergence, resolution) => {
      const done = await unit.resolve(divergence, resolution)
      if (done) written.add({type: 'resolved', divergence, resolution})
      return done
    },
    saveBlob: async (session, blob) => {
      await unit.saveBlob(session, blob)
      if (blob.state !== 'sent') written.add({type: 'blob', session, id: blob.id, bytes: toBase64(blob.bytes)})
    },
    eraseSession: async (session, by) => {
      await unit.eraseSession(session, by)
      written.add({type: 'dropped', session})
    },
    dropInherited: async session => {
      await unit.dropInherited(session)
      written.renew(session)
    },
    dropWords: async (session, saidBy, said) => {
      await unit.dropWords(session, saidBy, said)
      written.renew(session)
    },
  }
}

/** Everything of one session that the server lacks, as the database has it. */
export async function recordsOfSession(store: DeviceStore, session: SessionId): Promise<OutboxRecord[]> {
  const [record, written] = [await store.session(session), await store.since(session, 0)]
  const own = written.filter(({status}) => status !== 'accepted')
  const reasons = new Map((await store.rejected(session)).map(one => [one.event.id, one] as const))
  const bases = new Map((await store.divergences(session)).map(one => [one.id, one] as const))
  const head = record?.confirmed.head ?? 0
  const records: OutboxRecord[] = [
    {type: 'dropped', session},
    {type: 'confirmed', session, head, deviceSeq: record?.deviceSeq ?? 0, events: []},
  ]
  for (const {id} of await store.unsentBlobs(session)) {
    const bytes = await store.blob(session, id)
    if (bytes) records.push({type: 'blob', session, id, bytes: toBase64(bytes)})
  }
  for (const {event, basedOn} of own) {
    records.push({type: 'events', session, head: basedOn ?? 0, events: [storedEvent(event)]})
    const refused = reasons.get(event.id)
    if (!refused) continue
    const base = refused.divergence === null ? undefined : bases.get(refused.divergence)
    const divergence = base ? {id: base.id, base: base.base} : null
    records.push({type: 'refused', session, events: [event.id], reason: refused.reason, head, divergence})
  }
  for (const {id, resolution} of bases.values()) {
    if (resolution) records.push({type: 'resolved', divergence: id, resolution})
  }
  return records
}

function bySession(events: readonly LoggedEvent[]): Map<SessionId, LoggedEvent[]> {
  const sessions = new Map<SessionId, LoggedEvent[]>()
  for (const event of events) {
    const some = sessions.get(event.session) ?? []
    some.push(event)
    sessions.set(event.session, some)
  }
  return sessions
}

function storedEvent(event: LoggedEvent): StoredEvent {
  const {unreadable: _, ...envelope} = event as Envelope & {unreadable?: string}
  return envelope as StoredEvent
}
