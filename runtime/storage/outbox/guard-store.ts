import {toBase64} from '../../protocol/base64.ts'
import {blobsOf} from '../../protocol/blob.ts'
import type {Envelope, LoggedEvent} from '../../protocol/event.ts'
import type {EventId, SessionId} from '../../protocol/ids.ts'
import type {DeviceStore, UnitOfWork} from '../device-store.ts'
import type {OutboxRecord, StoredEvent} from './outbox-record.ts'

/** The part of the outbox that a guarded store writes to. */
export interface Guard {
  /** Appends records. With `flush`, resolves when they are durable. */
  write(records: readonly OutboxRecord[], options: {flush: boolean}): Promise<void>
  /** Rewrites the files without dropped records. */
  rewrite(): Promise<void>
  /** True if the event is in the outbox. */
  holds(event: EventId): boolean
}

/**
 * Wraps a store so that a transaction is acknowledged only after its unsent records are in the outbox. If the outbox
 * cannot be written, the transaction may be committed although the call rejects, and no later write succeeds. [LOG-9]
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

/** Collects the outbox records of one transaction. */
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

  /** Events of other devices are not in the outbox. They only advance the head. */
  confirm(events: readonly LoggedEvent[]): void {
    for (const [session, some] of bySession(events)) {
      const head = Math.max(...some.map(({seq}) => seq ?? 0))
      const ids = some.map(({id}) => id).filter(id => this.guard.holds(id))
      this.add({type: 'confirmed', session, head, deviceSeq: 0, events: ids})
    }
  }

  /** Replaces the outbox records of the session with its state in the database. */
  renew(session: SessionId): void {
    this.#again.add(session)
    this.hasDropped = true
  }

  async records(store: DeviceStore): Promise<OutboxRecord[]> {
    const renewed: OutboxRecord[] = []
    for (const session of this.#again) renewed.push(...(await recordsOfSession(store, session)))
    return [...(await this.#copiedBlobs(store)), ...this.#records, ...renewed]
  }

  /** Returns blobs that an event references and that the store copied from another session. */
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

/** Reads the unsent records of one session from the database. The first record drops the outbox's older ones. */
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
