import type {PGlite} from '@electric-sql/pglite'
import type {BlobId} from '../../protocol/blob.ts'
import type {Envelope, LoggedEvent} from '../../protocol/event.ts'
import {
  deviceIdSchema,
  type EventId,
  type MemoryChangeId,
  type MemoryId,
  type SessionId,
  subjectIdSchema,
  type TenantId,
} from '../../protocol/ids.ts'
import {memoryChangeSchema, memoryProposalSchema} from '../../protocol/memory.ts'
import type {ErasedSession} from '../device-store.ts'
import {decodeRecord, encodeRecord, type OutboxRecord} from '../outbox/outbox-record.ts'
import {applyRecord, emptyOutbox, type OutboxState} from '../outbox/outbox-state.ts'
import {erasedRows} from '../pglite-erase.ts'
import {readStored} from '../read-stored.ts'
import {type ReadTable, readTable} from './read-table.ts'

/** The readable content of a database that was set aside. */
export type Salvaged = {
  /** Unsent data, as an outbox state. */
  unsent: OutboxState
  /** Confirmed events of each session: a prefix of the log without gaps. */
  confirmed: Map<SessionId, LoggedEvent[]>
  erased: ErasedSession[]
  titles: Map<SessionId, string | null>
  /** True if the whole event table could be read. */
  whole: boolean
  /** Names of the tables that the application created. */
  applicationTables: string[]
}

type EventRow = {
  body: string
  status: 'pending' | 'accepted' | 'rejected'
  place: number
  reason: string | null
  divergence: string | null
  based_on: number | null
}
type DeviceRow = {id: string; online: boolean; tenant?: string | null; subject?: string | null}
type SessionRow = {id: string; title: string | null; head: number; device_seq: number}
type BlobRow = {session: string; id: string; bytes: string}
type ChangeRow = {id: string; item: string; body: string; not_before: number; refused: string | null}

/** Reads all readable data of a damaged database. Damage does not make it throw. */
export async function salvage(db: PGlite): Promise<Salvaged> {
  const events = await read<EventRow>(db, 'holdfast_events')
  const sessions = await read<SessionRow>(db, 'holdfast_sessions')
  const unsent = await unsentOf(db, events, sessions)
  return {
    unsent,
    confirmed: confirmedOf(events.rows),
    erased: await erasedRows(db, '').catch(() => []),
    titles: new Map(sessions.rows.map(({id, title}) => [id as SessionId, title])),
    whole: events.whole,
    applicationTables: await applicationTables(db),
  }
}

async function unsentOf(
  db: PGlite,
  events: ReadTable<EventRow>,
  sessions: ReadTable<SessionRow>,
): Promise<OutboxState> {
  const state = emptyOutbox()
  const add = (record: OutboxRecord) => {
    // Validate salvaged rows like records of the outbox. Invalid ones are not restored.
    const checked = decodeRecord(encodeRecord(record))
    if (checked) applyRecord(state, checked)
  }
  const [device] = (await read<DeviceRow>(db, 'holdfast_device')).rows
  const id = deviceIdSchema.safeParse(device?.id)
  const subject = subjectIdSchema.safeParse(device?.subject)
  const owner = subject.success ? {tenant: (device?.tenant ?? null) as TenantId | null, subject: subject.data} : null
  if (id.success) add({type: 'device', device: id.data, online: device?.online ?? true, owner})
  for (const {id: session, head, device_seq: seq} of sessions.rows) {
    add({type: 'confirmed', session: session as SessionId, head: Number(head), deviceSeq: Number(seq), events: []})
  }
  const bases = new Map(
    (await read<{id: string; base: number}>(db, 'holdfast_divergences')).rows.map(one => [one.id, one.base]),
  )
  for (const row of [...events.doubtful, ...events.rows]) for (const record of recordsOfRow(row, bases)) add(record)
  const blobs = await read<BlobRow & {state: string}>(
    db,
    'holdfast_blobs',
    "session, id, state, encode(bytes, 'base64') as bytes",
  )
  for (const {session, id: blob, bytes, state} of [...blobs.rows, ...blobs.doubtful]) {
    if (state === 'sent') continue
    add({type: 'blob', session: session as SessionId, id: blob as BlobId, bytes: bytes.replaceAll('\n', '')})
  }
  await addMemory(db, add)
  return state
}

function recordsOfRow(row: EventRow, bases: ReadonlyMap<string, number>): OutboxRecord[] {
  const event = parsed(row.body)
  if (row.status === 'accepted' || !event) return []
  const {session, id} = event
  const appended: OutboxRecord = {type: 'events', session, head: Number(row.based_on ?? 0), events: [event as never]}
  if (row.status === 'pending') return [appended]
  const base = row.divergence === null ? undefined : bases.get(row.divergence)
  const divergence = base === undefined ? null : {id: row.divergence as EventId, base: Number(base)}
  const head = Number(row.place)
  return [appended, {type: 'refused', session, events: [id], reason: row.reason ?? '', head, divergence}]
}

async function addMemory(db: PGlite, add: (record: OutboxRecord) => void): Promise<void> {
  const changes = await read<ChangeRow>(db, 'holdfast_memory_outbox')
  for (const {id, item, body, not_before: notBefore, refused} of changes.rows) {
    const change = memoryChangeSchema.safeParse(parsed(body))
    if (!change.success) continue
    const kept = {
      id: id as MemoryChangeId,
      item: item as MemoryId,
      change: change.data,
      notBefore: Number(notBefore),
      refused: refused === null ? null : String(parsed(refused)),
    }
    add({type: 'memory_change', change: kept})
  }
  for (const {body} of (await read<{body: string}>(db, 'holdfast_memory_proposals')).rows) {
    const proposal = memoryProposalSchema.safeParse(parsed(body))
    if (proposal.success) add({type: 'memory_proposals', proposals: [proposal.data]})
  }
}

/** Groups the accepted events by session. Doubtful rows are skipped: the server has these events and sends them again. */
function confirmedOf(rows: readonly EventRow[]): Map<SessionId, LoggedEvent[]> {
  const accepted = rows.flatMap(({status, body}) => (status === 'accepted' ? (parsed(body) ?? []) : []))
  const sessions = new Map<SessionId, LoggedEvent[]>()
  for (const event of accepted.toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0))) {
    const before = sessions.get(event.session) ?? []
    if (event.seq === before.length + 1) before.push(readStored(event))
    sessions.set(event.session, before)
  }
  return sessions
}

async function applicationTables(db: PGlite): Promise<string[]> {
  const tables = await db
    .query<{name: string}>(
      `select tablename as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema') and tablename not like 'holdfast\\_%' order by 1`,
    )
    .catch(() => ({rows: []}))
  return tables.rows.map(({name}) => name)
}

function read<Row>(db: PGlite, table: string, columns = '*'): Promise<ReadTable<Row>> {
  return readTable<Row>(db, table, columns)
}

function parsed(text: string): Envelope | null {
  try {
    return JSON.parse(text) as Envelope
  } catch {
    return null
  }
}
