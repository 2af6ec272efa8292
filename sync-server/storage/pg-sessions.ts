import {HoldfastError, parse} from '../../runtime/protocol/errors.ts'
import {type Envelope, type Kind, loggedEnvelopeSchema} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {initialSession} from '../../runtime/protocol/session.ts'
import {storedSession} from '../../runtime/protocol/stored-session.ts'
import {limits} from '../../runtime/protocol/version.ts'
import type {SessionSummary} from '../../runtime/protocol/wire.ts'
import type {Owner} from '../principal.ts'
import {lockedSession, type SessionRow} from './pg-locked-session.ts'
import type {Sql, SqlQuery} from './sql.ts'
import type {LockedSession, SessionKey, SessionStore} from './store.ts'

export function pgSessions(sql: Sql): SessionStore {
  return {
    locked: (key, work) => withRetry(() => sql.transaction(tx => inLock(tx, key, work))),
    list: (owner, limit) => list(sql, owner, limit),
    page: (owner, session, after, kinds, bytes = limits.bodyBytes) =>
      page(sql, {owner, session, after, bytes: Math.min(bytes, limits.bodyBytes)}, kinds),
    state: async (owner, session) => {
      const [row] = await sql.query<{state: string}>(
        'SELECT state FROM hf_sessions WHERE tenant = $1 AND id = $2 AND subject = $3',
        [owner.tenant, session, owner.subject],
      )
      return row ? storedSession(row.state) : null
    },
    sessionOfRun: async (owner, run) => {
      const [row] = await sql.query<{session: string}>(
        `SELECT session FROM hf_runs WHERE tenant = $1 AND id = $2 AND session IN
           (SELECT id FROM hf_sessions WHERE tenant = $1 AND subject = $3)`,
        [owner.tenant, run, owner.subject],
      )
      return row ? (row.session as SessionId) : null
    },
  }
}

/**
 * Concurrent transactions may insert the same event, run or operation id. The loser retries and then sees the
 * winner's row.
 */
async function withRetry<T>(transact: () => Promise<T>): Promise<T> {
  try {
    return await transact()
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    return transact()
  }
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23505'
}

async function inLock<T>(
  tx: SqlQuery,
  key: SessionKey,
  work: (session: LockedSession) => Promise<T>,
): Promise<{value: T} | null> {
  let row = await lockRow(tx, key)
  const created = !row && key.create !== undefined
  if (created) row = await insertRow(tx, key)
  if (created && row && (await isErased(tx, key))) {
    await tx.query('DELETE FROM hf_sessions WHERE tenant = $1 AND id = $2', [key.tenant, row.id])
    return null
  }
  if (!row || (key.subject !== undefined && row.subject !== key.subject)) return null
  const value = await work(lockedSession(tx, key, row))
  if (created)
    await tx.query('DELETE FROM hf_sessions WHERE tenant = $1 AND id = $2 AND head = 0', [key.tenant, row.id])
  return {value}
}

async function lockRow(tx: SqlQuery, {tenant, session}: SessionKey): Promise<SessionRow | null> {
  const [row] = await tx.query<SessionRow>(
    'SELECT id, subject, head, state FROM hf_sessions WHERE tenant = $1 AND id = $2 FOR UPDATE',
    [tenant, session],
  )
  return row ?? null
}

/**
 * If two pushes create one session concurrently, the second waits on the insert and then locks the first one's row.
 * If the first rolled back, there is no row to lock, and the second inserts again.
 */
async function insertRow(tx: SqlQuery, key: SessionKey): Promise<SessionRow | null> {
  for (;;) {
    const made = await tx.query(
      `INSERT INTO hf_sessions (tenant, id, subject, agent, title, head, state, created_at, updated_at)
       VALUES ($1, $2, $3, '""', 'null', 0, $4, 0, 0) ON CONFLICT DO NOTHING RETURNING id`,
      [key.tenant, key.session, key.create ?? '', JSON.stringify(initialSession)],
    )
    const row = await lockRow(tx, key)
    if (row || made.length > 0) return row
  }
}

/** Checked after the insert, which waits for a concurrent erasure. [RET-3] */
async function isErased(tx: SqlQuery, {tenant, session}: SessionKey): Promise<boolean> {
  const rows = await tx.query('SELECT 1 FROM hf_tombstones WHERE tenant = $1 AND session = $2', [tenant, session])
  return rows.length > 0
}

async function list(sql: Sql, owner: Owner, limit: number): Promise<SessionSummary[]> {
  type Row = {id: string; agent: string; title: string; head: number; created_at: number; updated_at: number}
  const rows = await sql.query<Row>(
    `SELECT id, agent, title, head, created_at, updated_at FROM hf_sessions
     WHERE tenant = $1 AND subject = $2 ORDER BY updated_at DESC, id DESC LIMIT $3`,
    [owner.tenant, owner.subject, limit],
  )
  return rows.map(row => ({
    id: row.id as SessionId,
    agent: JSON.parse(row.agent),
    title: JSON.parse(row.title),
    head: Number(row.head),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }))
}

async function page(
  sql: Sql,
  {owner, session, after, bytes}: {owner: Owner; session: SessionId; after: number; bytes: number},
  kinds?: readonly Kind[],
): Promise<{events: Envelope[]; head: number} | null> {
  // Read the head first: an event that commits between the two reads then only delays `more`.
  const [found] = await sql.query<{head: number}>(
    'SELECT head FROM hf_sessions WHERE tenant = $1 AND id = $2 AND subject = $3',
    [owner.tenant, session, owner.subject],
  )
  if (!found) return null
  // Literals instead of parameters, so that the planner can use the partial index on these kinds.
  const ofKinds = kinds ? `AND kind IN (${kinds.map(kind => `'${kind}'`).join(', ')})` : ''
  const rows = await sql.query<{seq: number; body: string}>(
    `SELECT seq, body FROM (
       SELECT seq, body, bytes, SUM(bytes) OVER (ORDER BY seq) AS total FROM (
         SELECT seq, body, bytes FROM hf_events
         WHERE tenant = $1 AND session = $2 AND seq > $3 ${ofKinds} ORDER BY seq LIMIT $4) AS candidates) AS sized
     WHERE total <= $5 OR total = bytes ORDER BY seq`,
    [owner.tenant, session, after, limits.pageEvents, bytes],
  )
  return {events: rows.map(readRow), head: Number(found.head)}
}

function readRow(row: {seq: number; body: string}): Envelope {
  try {
    return parse(loggedEnvelopeSchema, {...JSON.parse(row.body), seq: Number(row.seq)}, 'stored event')
  } catch (error) {
    throw new HoldfastError('database_damaged', `Event ${row.seq} of a session cannot be read back.`, {cause: error})
  }
}
