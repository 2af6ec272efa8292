import type {MemoryId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {MemoryItem, MemoryRecord, MemorySource} from '../../runtime/protocol/memory.ts'
import {isRecord} from '../../runtime/protocol/memory.ts'
import type {Owner} from '../principal.ts'
import type {ErasedMemory, LockedMemory, MemoryRef, MemoryStore} from './memory-store.ts'
import {insertAudit} from './pg-audit.ts'
import {isSettled, settleSources} from './pg-memory-settled.ts'
import {placeholders, type Sql, type SqlQuery, type SqlValue} from './sql.ts'

export function pgMemory(sql: Sql, across: Sql): MemoryStore {
  return {
    locked: (owner, work) => sql.transaction(async tx => work(await lockedMemory(tx, owner))),
    changes: (owner, after, limit) => changes(sql, owner, after, limit),
    inForce: async ({tenant, subject}, embedder, ids) => {
      if (ids?.length === 0) return []
      const only = ids ? `AND m.id IN (${placeholders(ids.length, 3)})` : ''
      const rows = await sql.query<MemoryRow & {vector: string | null}>(
        `SELECT m.id, m.status, m.body, m.updated_at, v.vector FROM hf_memory m
         LEFT JOIN hf_memory_vectors v
           ON v.tenant = m.tenant AND v.subject = m.subject AND v.item = m.id AND v.embedder = $3
         WHERE m.tenant = $1 AND m.subject = $2 AND m.status IN ('accepted', 'corrected') ${only} ORDER BY m.cursor`,
        [tenant, subject, embedder, ...(ids ?? [])],
      )
      return rows.map(row => ({
        item: itemOf(row) as MemoryRecord,
        vector: row.vector === null ? null : vectorOf(row.vector),
      }))
    },
    overdue: async (now, limit) =>
      (
        await across.query<RefRow>(
          `SELECT tenant, subject, id FROM hf_memory
           WHERE status IN ('accepted', 'corrected') AND valid_until <= $1 ORDER BY valid_until LIMIT $2`,
          [now, limit],
        )
      ).map(refOf),
    untouched: async (before, limit) =>
      (
        await across.query<RefRow>(
          `SELECT tenant, subject, id FROM hf_memory
           WHERE status NOT IN ('refused', 'forgotten') AND updated_at < $1 ORDER BY updated_at LIMIT $2`,
          [before, limit],
        )
      ).map(refOf),
    eraseBySession: ({session, ...owner}, at) =>
      erase(sql, owner, at, {
        items: 'AND id IN (SELECT item FROM hf_memory_sources WHERE tenant = $1 AND subject = $2 AND session = $3)',
        settled: 'AND session = $3',
        params: [session],
      }),
    eraseBySubject: (owner, at) => erase(sql, owner, at, {items: '', settled: '', params: []}),
  }
}

async function lockedMemory(tx: SqlQuery, owner: Owner): Promise<LockedMemory> {
  const {tenant, subject} = owner
  await tx.query('INSERT INTO hf_memory_subjects (tenant, subject, cursor) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING', [
    tenant,
    subject,
  ])
  await tx.query('SELECT cursor FROM hf_memory_subjects WHERE tenant = $1 AND subject = $2 FOR UPDATE', [
    tenant,
    subject,
  ])
  return {
    byIds: async ids => new Map((await rowsById(tx, owner, ids)).map(row => [row.id as MemoryId, itemOf(row)])),
    open: async () => {
      const rows = await tx.query<MemoryRow>(
        `SELECT id, status, body, updated_at FROM hf_memory WHERE tenant = $1 AND subject = $2
           AND status IN ('proposed', 'accepted', 'corrected') ORDER BY cursor`,
        [tenant, subject],
      )
      return rows.map(row => itemOf(row) as MemoryRecord)
    },
    hasSources: sources => hasSources(tx, owner, sources),
    isSettled: proposal => isSettled(tx, owner, proposal),
    save: async (item, audit) => {
      await save(tx, owner, item)
      await insertAudit(tx, audit)
    },
    saveVector: async (id, embedder, vector) => {
      await tx.query(
        `INSERT INTO hf_memory_vectors (tenant, subject, item, embedder, vector) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (tenant, subject, item, embedder) DO UPDATE SET vector = excluded.vector`,
        [tenant, subject, id, embedder, vectorText(vector)],
      )
    },
  }
}

type MemoryRow = {id: string; status: MemoryItem['status']; body: string; updated_at: number}

type RefRow = {tenant: string; subject: string; id: string}

function refOf({tenant, subject, id}: RefRow): MemoryRef {
  return {tenant: tenant as TenantId, subject: subject as SubjectId, id: id as MemoryId}
}

/** The body contains a whole record. A tombstone consists of the columns only. */
function itemOf(row: MemoryRow): MemoryItem {
  if (row.status === 'refused' || row.status === 'forgotten') {
    return {id: row.id as MemoryId, status: row.status, updatedAt: Number(row.updated_at)}
  }
  return JSON.parse(row.body) as MemoryRecord
}

async function changes(sql: Sql, {tenant, subject}: Owner, after: number, limit: number) {
  // Read the head first: a change that commits between the two reads then only delays `more`.
  const [found] = await sql.query<{cursor: number}>(
    'SELECT cursor FROM hf_memory_subjects WHERE tenant = $1 AND subject = $2',
    [tenant, subject],
  )
  const rows = await sql.query<MemoryRow & {cursor: number}>(
    `SELECT id, status, body, updated_at, cursor FROM hf_memory
     WHERE tenant = $1 AND subject = $2 AND cursor > $3 ORDER BY cursor LIMIT $4`,
    [tenant, subject, after, limit],
  )
  return {changes: rows.map(row => ({item: itemOf(row), cursor: Number(row.cursor)})), head: Number(found?.cursor ?? 0)}
}

async function rowsById(tx: SqlQuery, {tenant, subject}: Owner, ids: readonly MemoryId[]): Promise<MemoryRow[]> {
  if (ids.length === 0) return []
  return await tx.query<MemoryRow>(
    `SELECT id, status, body, updated_at FROM hf_memory
     WHERE tenant = $1 AND subject = $2 AND id IN (${placeholders(ids.length, 2)})`,
    [tenant, subject, ...ids],
  )
}

async function hasSources(tx: SqlQuery, {tenant, subject}: Owner, sources: readonly MemorySource[]): Promise<boolean> {
  for (const {session, events} of sources) {
    const ids = [...new Set(events)]
    const [found] = await tx.query<{known: number}>(
      `SELECT COUNT(*) AS known FROM hf_events e JOIN hf_sessions s ON s.tenant = e.tenant AND s.id = e.session
       WHERE e.tenant = $1 AND s.subject = $2 AND e.session = $3 AND e.id IN (${placeholders(ids.length, 3)})`,
      [tenant, subject, session, ...ids],
    )
    if (Number(found?.known) !== ids.length) return false
  }
  return true
}

async function save(tx: SqlQuery, owner: Owner, item: MemoryItem): Promise<void> {
  const {tenant, subject} = owner
  const before = (await rowsById(tx, owner, [item.id])).map(itemOf)[0]
  const record = isRecord(item) ? item : null
  await tx.query(
    `INSERT INTO hf_memory (tenant, subject, id, cursor, status, valid_until, body, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (tenant, subject, id) DO UPDATE SET cursor = excluded.cursor, status = excluded.status,
       valid_until = excluded.valid_until, body = excluded.body, updated_at = excluded.updated_at`,
    [
      tenant,
      subject,
      item.id,
      await nextCursor(tx, owner),
      item.status,
      record?.validUntil ?? null,
      record ? JSON.stringify(record) : '',
      item.updatedAt,
    ],
  )
  const settles = item.status === 'forgotten' || item.status === 'corrected'
  if (settles && before && isRecord(before)) await settleSources(tx, owner, before)
  if (!record) await dropFrom(tx, 'hf_memory_sources', owner, item.id)
  else if (!before) await insertSources(tx, owner, record)
  // A vector belongs to a text: delete it when the text is erased or changed.
  const sameText = record && before && isRecord(before) && before.text === record.text
  if (!sameText) await dropFrom(tx, 'hf_memory_vectors', owner, item.id)
}

async function nextCursor(tx: SqlQuery, {tenant, subject}: Owner): Promise<number> {
  const [row] = await tx.query<{cursor: number}>(
    'UPDATE hf_memory_subjects SET cursor = cursor + 1 WHERE tenant = $1 AND subject = $2 RETURNING cursor',
    [tenant, subject],
  )
  return Number(row?.cursor)
}

async function dropFrom(
  tx: SqlQuery,
  table: 'hf_memory_sources' | 'hf_memory_vectors',
  {tenant, subject}: Owner,
  id: MemoryId,
): Promise<void> {
  await tx.query(`DELETE FROM ${table} WHERE tenant = $1 AND subject = $2 AND item = $3`, [tenant, subject, id])
}

async function insertSources(tx: SqlQuery, {tenant, subject}: Owner, {id, sources}: MemoryRecord): Promise<void> {
  for (const session of new Set(sources.map(source => source.session))) {
    await tx.query('INSERT INTO hf_memory_sources (tenant, subject, item, session) VALUES ($1, $2, $3, $4)', [
      tenant,
      subject,
      id,
      session,
    ])
  }
}

async function erase(
  sql: Sql,
  owner: Owner,
  at: number,
  which: {items: string; settled: string; params: readonly SqlValue[]},
): Promise<ErasedMemory> {
  const {tenant, subject} = owner
  return await sql.transaction(async tx => {
    // Write nothing for a subject without memory, not even a lock row.
    const any = await tx.query('SELECT id FROM hf_memory WHERE tenant = $1 AND subject = $2 LIMIT 1', [tenant, subject])
    if (any.length === 0) return {items: []}
    const memory = await lockedMemory(tx, owner)
    const rows = await tx.query<{id: string}>(
      `SELECT id FROM hf_memory WHERE tenant = $1 AND subject = $2 AND body <> '' ${which.items} ORDER BY cursor`,
      [tenant, subject, ...which.params],
    )
    const items = rows.map(row => row.id as MemoryId)
    for (const id of items) {
      const audit = {tenant, subject, action: 'memory.forgotten' as const, about: id, reason: 'erasure', at}
      await memory.save({id, status: 'forgotten', updatedAt: at}, audit)
    }
    // Erased events cannot be a source again, so their marks are not needed.
    await tx.query(`DELETE FROM hf_memory_settled WHERE tenant = $1 AND subject = $2 ${which.settled}`, [
      tenant,
      subject,
      ...which.params,
    ])
    return {items}
  })
}

/** Base64 of little-endian 32-bit floats: parameters and columns are text. */
function vectorText(vector: Float32Array): string {
  const bytes = new Uint8Array(vector.length * 4)
  const view = new DataView(bytes.buffer)
  for (const [i, number] of vector.entries()) view.setFloat32(i * 4, number, true)
  return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))
}

function vectorOf(text: string): Float32Array {
  const bytes = Uint8Array.from(atob(text), byte => byte.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  return Float32Array.from({length: bytes.length / 4}, (_, i) => view.getFloat32(i * 4, true))
}
