import type {PGlite, Transaction} from '@electric-sql/pglite'
import type {Environment} from '../protocol/environment.ts'
import {parse} from '../protocol/errors.ts'
import type {Envelope, Kind, LoggedEvent} from '../protocol/event.ts'
import type {Fact} from '../protocol/fact.ts'
import {type DeviceId, deviceIdSchema, type EventId, type RunId, type SessionId, type StepId} from '../protocol/ids.ts'
import {storedSession} from '../protocol/stored-session.ts'
import type {DurableEvent} from '../protocol/transcript.ts'
import type {AgentListing} from '../protocol/wire.ts'
import type {DeviceStore, SessionRecord, StoredDocument, UnitOfWork} from './device-store.ts'
import {migrate} from './migrate.ts'
import {notDurable} from './not-durable.ts'
import {blobReads, blobWrites, markBlob, requireBlobs} from './pglite-blobs.ts'
import {claimLocalEvents} from './pglite-claim.ts'
import {divergenceReads, divergenceWrites} from './pglite-divergences.ts'
import {dropInherited, dropWords, erasedRows, eraseSession, scrub, tablesOfSubject} from './pglite-erase.ts'
import {eventIn} from './pglite-event.ts'
import {countUnsent, ownerOf, setOwner} from './pglite-owner.ts'
import {type EventRow, plainText, rows, type Sql, selectEvent, toDurable} from './pglite-rows.ts'
import {outcomesAfter, readWindow} from './pglite-window.ts'
import {readStored} from './read-stored.ts'

/** Larger than any seq: pending events stand after everything confirmed. */
const endOfLog = Number.MAX_SAFE_INTEGER

/** The device's store on an opened PGlite instance; brings its tables up to date first. */
export async function openPGliteStore(db: PGlite, environment: Environment): Promise<DeviceStore> {
  await migrate(db)
  return {
    device: () => deviceOf(db, environment),
    setOnline: async online => {
      await db.query('update holdfast_device set online = $1', [online])
    },
    owner: () => ownerOf(db),
    setOwner: owner =>
      db.transaction(async tx => {
        await setOwner(tx, owner)
        await claimLocalEvents(tx, owner.subject)
      }),
    unsent: () => countUnsent(db),
    sessions: async () =>
      (await rows<SessionRow>(db, `${selectSession} order by updated_at desc, id desc`)).map(toRecord),
    session: id => sessionOf(db, id),
    async transaction(work) {
      try {
        return await db.transaction(tx => work(unitOfWork(tx)))
      } catch (error) {
        throw notDurable(error)
      }
    },
    read: (session, limit, kinds) => read(db, session, {limit, kinds: kinds ?? null, upTo: endOfLog}),
    window: (session, asked) => readWindow(db, session, asked),
    outcomesAfter: (session, event, limit) => outcomesAfter(db, session, event, limit),
    byIds: ids => byIds(db, ids),
    event: (session, id) => eventIn(db, session, id),
    prepared: (run, step) => preparedStep(db, run, step),
    asOf: (session, seq, kinds) => asOf(db, session, seq, kinds),
    pending: (session, limit) => pending(db, session, limit),
    pendingIds: (session, limit) => pendingIds(db, session, limit),
    rejected: session => rejected(db, session),
    ...divergenceReads(db),
    ...blobReads(db),
    markBlob: (session, id, state) => markBlob(db, session, id, state),
    fact: key => factOf(db, key),
    saveFact: (fact, fetchedAt) => saveFact(db, fact, fetchedAt),
    renewFact: async ({key, value, version}, fetchedAt) => {
      await db.query('update holdfast_facts set value = $2, version = $3, fetched_at = $4 where key = $1', [
        key,
        JSON.stringify(value),
        version,
        fetchedAt,
      ])
    },
    forgetFact: async key => {
      await db.query('delete from holdfast_facts where key = $1', [key])
    },
    factKeys: async () =>
      (await rows<{key: string}>(db, 'select key from holdfast_facts order by key', [])).map(({key}) => key),
    agents: () => agentsOf(db),
    saveAgents: (agents, fetchedAt) => saveAgents(db, agents, fetchedAt),
    document: (session, name) => documentOf(db, session, name),
    highWater: () => 0,
    erased: async session => (await erasedRows(db, 'where session = $1', [session]))[0] ?? null,
    allErased: () => erasedRows(db, 'order by at desc, session desc'),
    scrub: () => scrub(db),
  }
}

function unitOfWork(tx: Transaction): UnitOfWork {
  return {
    renumber: async (session, events) => {
      for (const event of events) {
        await tx.query(
          `update holdfast_events set device_seq = $3, body = $4 where id = $1 and session = $2 and status = 'pending'`,
          [event.id, session, event.deviceSeq, JSON.stringify(event)],
        )
      }
    },
    append: async (events, head) => {
      const rows = events.map(event => ({event, status: 'pending' as const, place: endOfLog, basedOn: head}))
      await insertEvents(tx, rows, '')
      for (const event of events) await requireBlobs(tx, event)
    },
    confirm: events =>
      insertEvents(
        tx,
        events.map(event => ({event, status: 'accepted', place: event.seq ?? 0, basedOn: null})),
        `on conflict (id) do update
         set status = excluded.status, place = excluded.place, body = excluded.body, reason = null`,
      ),
    reject: async (id, reason, head) => {
      await tx.query(
        `update holdfast_events set status = 'rejected', place = $2, reason = $3 where id = $1 and status = 'pending'`,
        [id, head, plainText(reason)],
      )
    },
    ...divergenceWrites(tx),
    ...blobReads(tx),
    ...blobWrites(tx),
    save: record => saveRecord(tx, record),
    advance: record => advanceRecord(tx, record),
    pending: session => pending(tx, session, endOfLog),
    byIds: ids => byIds(tx, ids),
    event: (session, id) => eventIn(tx, session, id),
    forks: session => forksOf(tx, session),
    asOf: (session, seq, kinds) => asOf(tx, session, seq, kinds),
    addToDocument: (session, name, update) => addToDocument(tx, session, name, update),
    saveDocument: async (session, name, snapshot) => {
      await tx.query('delete from holdfast_document_updates where session = $1 and name = $2', [session, name])
      await tx.query(
        `insert into holdfast_documents (session, name, snapshot) values ($1, $2, $3)
         on conflict (session, name) do update set snapshot = excluded.snapshot`,
        [session, name, snapshot],
      )
    },
    document: (session, name) => documentOf(tx, session, name),
    fact: key => factOf(tx, key),
    saveFact: (fact, fetchedAt) => saveFact(tx, fact, fetchedAt),
    eraseSession: (session, by) => eraseSession(tx, session, by),
    dropInherited: session => dropInherited(tx, session),
    dropWords: (session, saidBy, said) => dropWords(tx, session, saidBy, said),
    eraseFacts: async () => {
      for (const table of tablesOfSubject) await tx.query(`delete from ${table}`)
    },
    dropDocuments: async session => {
      await tx.query('delete from holdfast_documents where session = $1', [session])
      await tx.query('delete from holdfast_document_updates where session = $1', [session])
    },
    sql: (query, params) => rows(tx, query, params),
  }
}

async function deviceOf(sql: Sql, environment: Environment): Promise<{id: DeviceId; online: boolean}> {
  await sql.query('insert into holdfast_device (id) values ($1) on conflict do nothing', [environment.id('device')])
  const [row] = await rows<{id: string; online: boolean}>(sql, 'select id, online from holdfast_device')
  return {id: parse(deviceIdSchema, row?.id, 'stored device'), online: row?.online ?? true}
}

type SessionRow = {
  id: string
  confirmed: string
  current: string
  device_seq: number
  excerpt: string
  updated_at: number
}
const selectSession = 'select id, confirmed, current, device_seq, excerpt, updated_at from holdfast_sessions'

function toRecord(row: SessionRow): SessionRecord {
  return {
    id: row.id as SessionId,
    confirmed: storedSession(row.confirmed),
    current: storedSession(row.current),
    deviceSeq: Number(row.device_seq),
    excerpt: row.excerpt,
    updatedAt: Number(row.updated_at),
  }
}

async function sessionOf(sql: Sql, id: SessionId): Promise<SessionRecord | null> {
  const [row] = await rows<SessionRow>(sql, `${selectSession} where id = $1`, [id])
  return row ? toRecord(row) : null
}

async function saveRecord(sql: Sql, record: SessionRecord): Promise<void> {
  const {id, confirmed, current, deviceSeq, excerpt, updatedAt} = record
  await sql.query(
    `insert into holdfast_sessions
       (id, agent, title, confirmed, current, head, device_seq, excerpt, updated_at, parent, parent_seq)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (id) do update set agent = excluded.agent, title = excluded.title, confirmed = excluded.confirmed,
       current = excluded.current, head = excluded.head, device_seq = excluded.device_seq,
       excerpt = excluded.excerpt, updated_at = excluded.updated_at, parent = excluded.parent,
       parent_seq = excluded.parent_seq`,
    [
      id,
      plainText(current.agent ?? ''),
      current.title && plainText(current.title),
      JSON.stringify(confirmed),
      JSON.stringify(current),
      confirmed.head,
      deviceSeq,
      plainText(excerpt),
      updatedAt,
      current.forkedFrom?.session ?? null,
      current.forkedFrom?.seq ?? null,
    ],
  )
}

/** Writing what has not changed again costs as much as what has: two folded states, each compressed anew. */
async function advanceRecord(sql: Sql, record: SessionRecord): Promise<void> {
  const {id, current, deviceSeq, excerpt, updatedAt} = record
  const {affectedRows} = await sql.query(
    `update holdfast_sessions
     set agent = $2, title = $3, current = $4, device_seq = $5, excerpt = $6, updated_at = $7 where id = $1`,
    [
      id,
      plainText(current.agent ?? ''),
      current.title && plainText(current.title),
      JSON.stringify(current),
      deviceSeq,
      plainText(excerpt),
      updatedAt,
    ],
  )
  if (affectedRows === 0) await saveRecord(sql, record)
}

type Placed = {event: LoggedEvent; status: 'pending' | 'accepted'; place: number; basedOn: number | null}
const eventColumns = ['id', 'session', 'status', 'place', 'device_seq', 'kind', 'body', 'based_on', 'step']

/** Many rows a statement: what is appended or pulled together costs little more than one alone. */
async function insertEvents(sql: Sql, placed: readonly Placed[], onConflict: string): Promise<void> {
  for (let from = 0; from < placed.length; from += rowsPerStatement) {
    const some = placed.slice(from, from + rowsPerStatement)
    const width = eventColumns.length
    const values = some.map((_, row) => `(${eventColumns.map((_, column) => `$${row * width + column + 1}`)})`)
    await sql.query(
      `insert into holdfast_events (${eventColumns}) values ${values} ${onConflict}`,
      some.flatMap(({event, status, place, basedOn}) => {
        const {unreadable: _, ...envelope} = event as Envelope & {unreadable?: string}
        const {id, session, deviceSeq, kind} = event
        const step = kind === 'step.prepared' ? (event.step ?? null) : null
        return [id, session, status, place, deviceSeq ?? 0, kind, JSON.stringify(envelope), basedOn, step]
      }),
    )
  }
}
/** Postgres takes 65,535 parameters a statement; parsing that many is slower than several of this size. */
const rowsPerStatement = 100

type Window = {limit: number; kinds: readonly Kind[] | null; upTo: number}

async function read(sql: Sql, session: SessionId, window: Window): Promise<DurableEvent[]> {
  const {limit, kinds, upTo} = window
  const found = await rows<EventRow>(
    sql,
    `${selectEvent} where session = $1 and place <= $2 and ($3::text[] is null or kind = any($3::text[]))
     order by place desc, device_seq desc, id desc limit $4`,
    [session, upTo, kinds, limit],
  )
  const own = found.reverse().map(toDurable)
  if (own.length >= limit) return own
  const parent = (await sessionOf(sql, session))?.current.forkedFrom
  if (!parent) return own
  const inherited = await read(sql, parent.session, {kinds, limit: limit - own.length, upTo: parent.seq})
  return [...inherited.filter(({durability}) => durability.status === 'server'), ...own]
}

async function forksOf(sql: Sql, session: SessionId): Promise<{session: SessionId; seq: number}[]> {
  const found = await rows<{id: string; parent_seq: number}>(
    sql,
    'select id, parent_seq from holdfast_sessions where parent = $1',
    [session],
  )
  return found.map(row => ({session: row.id as SessionId, seq: Number(row.parent_seq)}))
}

async function asOf(sql: Sql, session: SessionId, upTo: number, kinds: readonly Kind[]): Promise<LoggedEvent[]> {
  const found = await read(sql, session, {limit: endOfLog, kinds, upTo})
  return found.flatMap(({event, durability}) => (durability.status === 'server' ? [event] : []))
}

async function byIds(sql: Sql, ids: readonly EventId[]): Promise<LoggedEvent[]> {
  const found = await rows<{id: string; body: string}>(
    sql,
    'select id, body from holdfast_events where id = any($1::text[])',
    [ids],
  )
  const byId = new Map(found.map(row => [row.id, readStored(JSON.parse(row.body))]))
  return ids.flatMap(id => byId.get(id) ?? [])
}

async function preparedStep(sql: Sql, run: RunId, step: StepId): Promise<LoggedEvent | null> {
  const found = await rows<{body: string}>(sql, 'select body from holdfast_events where step = $1', [step])
  return found.map(row => readStored(JSON.parse(row.body))).find(event => event.run === run) ?? null
}

async function pending(sql: Sql, session: SessionId, limit: number): Promise<LoggedEvent[]> {
  const found = await rows<EventRow>(
    sql,
    `${selectEvent} where session = $1 and status = 'pending' order by device_seq limit $2`,
    [session, limit],
  )
  return found.map(row => readStored(JSON.parse(row.body)))
}

async function pendingIds(sql: Sql, session: SessionId, limit: number): Promise<EventId[]> {
  const found = await rows<{id: string}>(
    sql,
    `select id from holdfast_events where session = $1 and status = 'pending' order by device_seq limit $2`,
    [session, limit],
  )
  return found.map(({id}) => id as EventId)
}

async function rejected(sql: Sql, session: SessionId) {
  const found = await rows<EventRow>(
    sql,
    `${selectEvent} where session = $1 and status = 'rejected' order by place, device_seq`,
    [session],
  )
  return found.map(row => ({
    event: readStored(JSON.parse(row.body)),
    reason: row.reason ?? '',
    divergence: row.divergence as EventId | null,
  }))
}

async function factOf(sql: Sql, key: string): Promise<(Fact & {fetchedAt: number}) | null> {
  const [row] = await rows<{value: string; version: string; fetched_at: number}>(
    sql,
    'select value, version, fetched_at from holdfast_facts where key = $1',
    [key],
  )
  return row ? {key, value: JSON.parse(row.value), version: row.version, fetchedAt: Number(row.fetched_at)} : null
}

async function saveFact(sql: Sql, fact: Fact, fetchedAt: number): Promise<void> {
  await sql.query(
    `insert into holdfast_facts (key, value, version, fetched_at) values ($1, $2, $3, $4)
     on conflict (key) do update set value = excluded.value, version = excluded.version, fetched_at = excluded.fetched_at`,
    [fact.key, JSON.stringify(fact.value), fact.version, fetchedAt],
  )
}

async function agentsOf(sql: Sql): Promise<{agents: AgentListing[]; fetchedAt: number} | null> {
  const [row] = await rows<{body: string; fetched_at: number}>(sql, 'select body, fetched_at from holdfast_agents')
  return row ? {agents: JSON.parse(row.body) as AgentListing[], fetchedAt: Number(row.fetched_at)} : null
}

async function saveAgents(sql: Sql, agents: readonly AgentListing[], fetchedAt: number): Promise<void> {
  await sql.query(
    `insert into holdfast_agents (body, fetched_at) values ($1, $2)
     on conflict (one) do update set body = excluded.body, fetched_at = excluded.fetched_at`,
    [JSON.stringify(agents), fetchedAt],
  )
}

async function documentOf(sql: Sql, session: SessionId, name: string): Promise<StoredDocument | null> {
  const [row] = await rows<{snapshot: Uint8Array}>(
    sql,
    'select snapshot from holdfast_documents where session = $1 and name = $2',
    [session, name],
  )
  const since = await rows<{update: Uint8Array}>(
    sql,
    'select update from holdfast_document_updates where session = $1 and name = $2 order by place',
    [session, name],
  )
  if (!row && since.length === 0) return null
  return {snapshot: row?.snapshot ?? null, updates: since.map(({update}) => update)}
}

async function addToDocument(sql: Sql, session: SessionId, name: string, update: Uint8Array) {
  const values = [session, name]
  await sql.query('insert into holdfast_document_updates (session, name, update) values ($1, $2, $3)', [
    ...values,
    update,
  ])
  const [row] = await rows<{updates: number; bytes: number}>(
    sql,
    `select count(*)::int as updates, sum(length(update))::int as bytes from holdfast_document_updates
     where session = $1 and name = $2`,
    values,
  )
  return {updates: row?.updates ?? 0, bytes: row?.bytes ?? 0}
}
