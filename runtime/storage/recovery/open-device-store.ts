import type {PGlite} from '@electric-sql/pglite'
import type {Environment} from '../../protocol/environment.ts'
import {HoldfastError} from '../../protocol/errors.ts'
import type {EventId, SessionId} from '../../protocol/ids.ts'
import type {RecoveredSession, Recovery, StorageKind} from '../../protocol/recovery.ts'
import type {DeviceStore, Projection} from '../device-store.ts'
import type {DeviceMemoryStore} from '../memory-store.ts'
import {guardMemory} from '../outbox/guard-memory.ts'
import {guardStore, recordsOfSession} from '../outbox/guard-store.ts'
import {Outbox} from '../outbox/outbox.ts'
import type {OutboxRecord} from '../outbox/outbox-record.ts'
import {applyRecord, emptyOutbox, type KeptEvent, type OutboxState} from '../outbox/outbox-state.ts'
import type {DeviceDatabase, Previous} from '../pglite/device-database.ts'
import {stopDatabase} from '../pglite/fail-stop.ts'
import {keepHouse} from '../pglite/housekeeping.ts'
import {pgliteMemory} from '../pglite-memory.ts'
import {rows} from '../pglite-rows.ts'
import {openPGliteStore} from '../pglite-store.ts'
import {putBackSession, statesOf, type Wanted} from './put-back.ts'
import {type Salvaged, salvage} from './salvage.ts'

/** A device's store with what is kept beside its database. */
export interface DeviceStorage {
  store: DeviceStore
  memory: DeviceMemoryStore
  kind: StorageKind
  /** What the person has to be told, or null. [LOG-9] */
  recovery: Recovery | null
  /** The person has read it. */
  dismissRecovery(): Promise<void>
}

/**
 * Opens the store of a device: what was acknowledged and is missing in the database is put back from the outbox and
 * from the database before, and from then on nothing is acknowledged that is in one place only. [LOG-9]
 */
export async function openDeviceStore(
  database: DeviceDatabase,
  environment: Environment,
  projections: readonly Projection[],
): Promise<DeviceStorage> {
  const {db, storage: kind, previous} = database
  const inner = await openPGliteStore(db, environment)
  const memory = pgliteMemory(db)
  if (!database.outbox) {
    return {store: inner, memory, kind, recovery: null, dismissRecovery: async () => undefined}
  }
  const outbox = new Outbox(database.outbox)
  const loaded = await outbox.load()
  const salvaged = previous && (await salvageFrom(previous))
  const unsent = merged(loaded.state, salvaged?.unsent ?? emptyOutbox())
  await restoreDevice(db, inner, unsent)
  const found = await compare(db, inner, {unsent, salvaged, projections})
  await restoreMemory(db, memory, unsent)
  const report = {...found, whole: loaded.whole || (salvaged?.whole ?? false), known: loaded.state.device !== null}
  const recovery = nextReport(loaded.state.recovery, reportOf(database, report, salvaged, environment))
  const device = () => deviceRecord(inner)
  await levelOutbox(outbox, inner, {
    state: loaded.state,
    whole: loaded.whole,
    stale: found.stale,
    recovery,
    memory,
    device,
  })
  await previous?.done()

  const write = (records: readonly OutboxRecord[], options: {flush: boolean}) =>
    outbox.write(records, options).catch(error => Promise.reject(stopDatabase(db, error)))
  const guard = {write, rewrite: () => outbox.rewrite(), holds: (id: EventId) => outbox.holds(id)}
  const guarded = guardStore(inner, guard, device)
  const house = keepHouse(db)
  return {
    store: {
      ...guarded,
      highWater: session => unsent.marks.get(session)?.head ?? 0,
      transaction: async work => {
        const result = await guarded.transaction(work)
        house.wrote()
        return result
      },
    },
    memory: guardMemory(memory, guard),
    kind,
    recovery,
    dismissRecovery: async () => {
      if (recovery) await write([{type: 'recovery', recovery, dismissed: true}], {flush: true})
    },
  }
}

async function salvageFrom(previous: Previous): Promise<Salvaged | null> {
  const old = await previous.open().catch(() => null)
  if (!old) return null
  try {
    return await salvage(old)
  } catch {
    return null
  } finally {
    await old.close().catch(() => undefined)
  }
}

/** What the outbox says counts: it was written last, and its records carry checksums. */
function merged(first: OutboxState, second: OutboxState): OutboxState {
  const both = <K, V>(a: Map<K, V>, b: Map<K, V>) => new Map([...b, ...a])
  return {
    device: first.device ?? second.device,
    events: both(first.events, second.events),
    blobs: both(first.blobs, second.blobs),
    resolutions: both(first.resolutions, second.resolutions),
    marks: both(first.marks, second.marks),
    changes: both(first.changes, second.changes),
    proposals: both(first.proposals, second.proposals),
    recovery: first.recovery,
  }
}

/**
 * The device keeps its id, its owner and its user's wish: a database that begins anew must not become anybody else's. [ID-6]
 *
 * @throws HoldfastError `other_person` when the outbox is of another person than the database
 */
async function restoreDevice(db: PGlite, store: DeviceStore, {device}: OutboxState): Promise<void> {
  if (!device) return
  await db.query('insert into holdfast_device (id, online) values ($1, $2) on conflict do nothing', [
    device.device,
    device.online,
  ])
  const {owner} = device
  if (!owner) return
  const known = await store.owner()
  if (known && (known.subject !== owner.subject || (known.tenant && owner.tenant && known.tenant !== owner.tenant))) {
    throw new HoldfastError('other_person', 'The database and the outbox in this place belong to two people.')
  }
  await db.query('update holdfast_device set tenant = $1, subject = $2 where subject is null', [
    owner.tenant,
    owner.subject,
  ])
}

async function deviceRecord(store: DeviceStore): Promise<OutboxRecord> {
  const {id, online} = await store.device()
  return {type: 'device', device: id, online, owner: await store.owner()}
}

type Compared = {
  sessions: RecoveredSession[]
  restored: number
  refilling: number
  withoutBytes: number
  stale: Set<SessionId>
}
type Sources = {unsent: OutboxState; salvaged: Salvaged | null; projections: readonly Projection[]}

async function compare(db: PGlite, store: DeviceStore, {unsent, salvaged, projections}: Sources): Promise<Compared> {
  for (const {session, erasure, why, at} of salvaged?.erased ?? []) {
    await store.transaction(unit => unit.eraseSession(session, {erasure, why, at}))
  }
  const erased = new Set((await store.allErased()).map(({session}) => session))
  const states = await statesOf((query, params) => rows(db, query, params), [...unsent.events.keys()])
  const result: Compared = {sessions: [], restored: 0, refilling: 0, withoutBytes: 0, stale: new Set()}
  const missing = new Map<SessionId, KeptEvent[]>()
  for (const [id, kept] of unsent.events) {
    const {session} = kept.event
    const state = states.get(id)
    if (state ? state.status !== (kept.refusal ? 'rejected' : 'pending') : erased.has(session))
      result.stale.add(session)
    else if (!state) missing.set(session, [...(missing.get(session) ?? []), kept])
  }
  for (const [id, {status, session}] of states) {
    if (status !== 'accepted' && !unsent.events.has(id)) result.stale.add(session)
  }
  const all = new Set([...unsent.marks.keys(), ...missing.keys(), ...(salvaged?.confirmed.keys() ?? [])])
  for (const session of all) {
    if (erased.has(session)) continue
    const confirmed = salvaged?.confirmed.get(session) ?? []
    const mark = unsent.marks.get(session) ?? {head: 0, deviceSeq: 0}
    await putBack(
      store,
      {session, confirmed, missing: missing.get(session) ?? [], mark},
      {unsent, salvaged, projections},
      result,
    )
  }
  return result
}

async function putBack(store: DeviceStore, wanted: Wanted, sources: Sources, result: Compared): Promise<void> {
  const {session, confirmed, missing, mark} = wanted
  const record = await store.session(session)
  const head = record?.confirmed.head ?? 0
  let done = {restored: 0, withoutBytes: 0, head}
  const counts = record !== null && record.deviceSeq < mark.deviceSeq
  if (missing.length > 0 || confirmed.length > head || counts) {
    done = await putBackSession(store, wanted, {from: sources.unsent, projections: sources.projections})
    result.stale.add(session)
  }
  const refilling = Math.max(0, mark.head - done.head)
  if (done.restored + refilling === 0) return
  result.restored += done.restored
  result.refilling += refilling
  result.withoutBytes += done.withoutBytes
  const title = (await store.session(session))?.current.title ?? sources.salvaged?.titles.get(session) ?? null
  result.sessions.push({session, title, restored: done.restored, refilling, lost: done.withoutBytes})
}

async function restoreMemory(db: PGlite, {queue}: DeviceMemoryStore, {changes, proposals}: OutboxState): Promise<void> {
  const known = new Set((await queue.changes()).map(({id}) => id))
  for (const change of changes.values()) {
    if (known.has(change.id)) continue
    await queue.addChange(change)
    if (change.refused !== null) await queue.refuseChange(change.id, change.refused)
  }
  for (const proposal of proposals.values()) {
    await db.query('insert into holdfast_memory_proposals (id, body) values ($1, $2) on conflict (id) do nothing', [
      proposal.id,
      JSON.stringify(proposal),
    ])
  }
}

/** Null when the database was as it had been left. */
function reportOf(
  {previous, fresh}: DeviceDatabase,
  {sessions, restored, refilling, withoutBytes, whole, known}: Compared & {whole: boolean; known: boolean},
  salvaged: Salvaged | null,
  environment: Environment,
): Recovery | null {
  if (!previous && restored + refilling === 0 && !(fresh && known)) return null
  return {
    id: crypto.randomUUID(),
    cause: previous?.cause ?? (fresh ? 'emptied' : 'behind'),
    at: environment.now(),
    restored,
    refilling,
    lost: whole ? withoutBytes : null,
    sessions: sessions.map(session => (whole ? session : {...session, lost: null})),
    emptyTables: salvaged?.applicationTables ?? [],
    setAside: previous?.setAside ?? null,
    detail: previous?.detail ?? 'Events that had been acknowledged were missing in the database.',
  }
}

type Told = OutboxState['recovery']

/** What is to be told from now on: the last report until it is dismissed, and what was found now unless it was told before. */
function nextReport(last: Told, found: Recovery | null): Recovery | null {
  const open = last && !last.dismissed ? last.recovery : null
  if (!found || (last && isKnown(last.recovery, found))) return open
  return open ? bothOf(open, found) : found
}

/** Entries that are still to be fetched from the server, as at the last opening. */
function isKnown(last: Recovery, found: Recovery): boolean {
  if (found.cause !== 'behind' || found.restored > 0) return false
  const told = new Map(last.sessions.map(({session, refilling}) => [session, refilling]))
  return found.sessions.every(({session, refilling}) => refilling <= (told.get(session) ?? 0))
}

function bothOf(last: Recovery, found: Recovery): Recovery {
  const sum = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b)
  const again = new Set(found.sessions.map(({session}) => session))
  return {
    ...found,
    restored: last.restored + found.restored,
    lost: sum(last.lost, found.lost),
    sessions: [...last.sessions.filter(({session}) => !again.has(session)), ...found.sessions],
    emptyTables: [...new Set([...last.emptyTables, ...found.emptyTables])],
    setAside: found.setAside ?? last.setAside,
    detail: `${last.detail} ${found.detail}`.slice(0, 2000),
  }
}

type Level = {
  state: OutboxState
  whole: boolean
  stale: ReadonlySet<SessionId>
  recovery: Recovery | null
  memory: DeviceMemoryStore
  device(): Promise<OutboxRecord>
}

/** What the database has and the outbox lacks is added; an outbox that could not be read whole is written anew. */
async function levelOutbox(outbox: Outbox, store: DeviceStore, level: Level): Promise<void> {
  const {state, whole, stale, recovery, memory} = level
  const records: OutboxRecord[] = [await level.device()]
  const sessions = whole ? [...stale] : (await store.sessions()).map(({id}) => id)
  for (const session of sessions) records.push(...(await recordsOfSession(store, session)))
  const {queue} = memory
  for (const change of await queue.changes()) {
    if (!state.changes.has(change.id)) records.push({type: 'memory_change', change})
  }
  const proposals = (await queue.proposals()).filter(({id}) => !state.proposals.has(id))
  if (proposals.length > 0) records.push({type: 'memory_proposals', proposals})
  if (recovery && recovery !== state.recovery?.recovery) records.push({type: 'recovery', recovery, dismissed: false})
  if (whole)
    return outbox.write(JSON.stringify(records[0]) === JSON.stringify(state.device) ? records.slice(1) : records)
  for (const record of records) applyRecord(state, record)
  await outbox.replace(state)
}
