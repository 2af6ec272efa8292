import {type Event, eventContent} from '../../runtime/protocol/event.ts'
import type {CallId, EventId, OperationId, RunId, SessionId, SubjectId} from '../../runtime/protocol/ids.ts'
import {foldSlots, type Slots, slotHistoryKinds} from '../../runtime/protocol/slots.ts'
import {storedSession} from '../../runtime/protocol/stored-session.ts'
import {insertAudit} from './pg-audit.ts'
import {lackingBlobs} from './pg-blobs.ts'
import {changeDue} from './pg-due-work.ts'
import {jsonText, projectEvents, type Where} from './project-events.ts'
import {placeholders, type SqlQuery, type SqlValue, valuesList} from './sql.ts'
import {
  type Commit,
  callsIn,
  deviceSeqKey,
  type Known,
  type LockedSession,
  type SealedEvent,
  type SessionKey,
  type ToolUsage,
} from './store.ts'

export type SessionRow = {id: string; subject: string; head: number; state: string}

export function lockedSession(tx: SqlQuery, key: SessionKey, row: SessionRow): LockedSession {
  const subject = row.subject as SubjectId
  return {
    subject,
    state: storedSession(row.state),
    known: events => known(tx, key, events),
    headOf: session => headOf(tx, key, subject, session),
    lacking: blobs => lackingBlobs(tx, key, blobs),
    usage: of => toolUsage(tx, key, of),
    slotsAsOf: (session, seq) => slotsAsOf(tx, key, session, seq),
    append: (sealed, commit) => append(tx, {tenant: key.tenant, session: key.session, subject}, sealed, commit),
  }
}

async function headOf(tx: SqlQuery, key: SessionKey, subject: SubjectId, session: SessionId): Promise<number | null> {
  const [row] = await tx.query<{head: number}>(
    'SELECT head FROM hf_sessions WHERE tenant = $1 AND id = $2 AND subject = $3',
    [key.tenant, session, subject],
  )
  return row ? Number(row.head) : null
}

async function slotsAsOf(tx: SqlQuery, key: SessionKey, session: SessionId, seq: number): Promise<Slots> {
  const kinds = slotHistoryKinds.map(kind => `'${kind}'`).join(', ')
  const rows = await tx.query<{body: string}>(
    `SELECT body FROM hf_events WHERE tenant = $1 AND session = $2 AND seq <= $3 AND kind IN (${kinds}) ORDER BY seq`,
    [key.tenant, session, seq],
  )
  return foldSlots(rows.map(row => JSON.parse(row.body)))
}

async function known(tx: SqlQuery, key: SessionKey, events: readonly Event[]): Promise<Known> {
  const [first] = events
  if (!first)
    return {
      events: new Map(),
      deviceSeqs: new Map(),
      setBack: new Set(),
      runs: new Set(),
      calls: new Set(),
      operations: new Set(),
    }
  const ids = events.map(event => event.id)
  const rows = await tx.query<{session: string; seq: number; id: string; content_hash: string}>(
    `SELECT session, seq, id, content_hash FROM hf_events WHERE tenant = $1 AND id IN (${placeholders(ids.length, 1)})`,
    [key.tenant, ...ids],
  )
  return {
    events: new Map(
      rows.map(row => [row.id as EventId, {session: row.session, seq: Number(row.seq), hash: row.content_hash}]),
    ),
    deviceSeqs: await takenDeviceSeqs(tx, key, events),
    setBack: new Set(),
    runs: new Set(await takenIds<RunId>(tx, key, 'hf_runs', startedRuns(events))),
    calls: new Set(await takenIds<CallId>(tx, key, 'hf_calls', events.flatMap(callsIn))),
    operations: new Set(await takenIds<OperationId>(tx, key, 'hf_operations', proposedOperations(events))),
  }
}

/** With several devices, this matches more pairs than needed; a long list of row values overflows PGlite's stack. */
async function takenDeviceSeqs(tx: SqlQuery, key: SessionKey, events: readonly Event[]): Promise<Map<string, EventId>> {
  const devices = [...new Set(events.map(event => event.device))]
  const deviceSeqs = events.map(event => event.deviceSeq)
  const rows = await tx.query<{id: string; device: Event['device']; device_seq: number}>(
    `SELECT id, device, device_seq FROM hf_events WHERE tenant = $1 AND session = $2
       AND device IN (${placeholders(devices.length, 2)})
       AND device_seq IN (${placeholders(deviceSeqs.length, 2 + devices.length)})`,
    [key.tenant, key.session, ...devices, ...deviceSeqs],
  )
  return new Map(rows.map(row => [deviceSeqKey(row.device, Number(row.device_seq)), row.id as EventId]))
}

async function takenIds<Id extends string>(
  tx: SqlQuery,
  key: SessionKey,
  table: 'hf_runs' | 'hf_calls' | 'hf_operations',
  ids: Id[],
): Promise<Id[]> {
  if (ids.length === 0) return []
  const rows = await tx.query<{id: string}>(
    `SELECT id FROM ${table} WHERE tenant = $1 AND id IN (${placeholders(ids.length, 1)})`,
    [key.tenant, ...ids],
  )
  return rows.map(row => row.id as Id)
}

function startedRuns(events: readonly Event[]): RunId[] {
  return events.flatMap(event => (event.kind === 'run.started' && event.run ? [event.run] : []))
}

function proposedOperations(events: readonly Event[]): OperationId[] {
  return events.flatMap(event => (event.kind === 'operation.proposed' ? [event.data.operation] : []))
}

/** Locks the tool's row after the session's row. Every caller uses this order, so that no deadlock can occur. */
async function toolUsage(
  tx: SqlQuery,
  {tenant}: SessionKey,
  {tool, subject, since}: Parameters<LockedSession['usage']>[0],
): Promise<ToolUsage> {
  const name = jsonText(tool)
  await tx.query('INSERT INTO hf_tool_locks (tenant, tool) VALUES ($1, $2) ON CONFLICT DO NOTHING', [tenant, name])
  await tx.query('SELECT tool FROM hf_tool_locks WHERE tenant = $1 AND tool = $2 FOR UPDATE', [tenant, name])
  const [row] = await tx.query<{starts: number; amount: number | null; under_way: number}>(
    `SELECT COUNT(CASE WHEN started_at > $3 THEN 1 END) AS starts,
       SUM(CASE WHEN started_at > $3 AND status <> 'failed' THEN amount END) AS amount,
       COUNT(CASE WHEN status = 'started' THEN 1 END) AS under_way
     FROM hf_operations
     WHERE tenant = $1 AND tool = $2 AND started_at IS NOT NULL AND (started_at > $3 OR status = 'started')
       ${subject === undefined ? '' : 'AND requested_by = $4'}`,
    [tenant, name, since, ...(subject === undefined ? [] : [subject])],
  )
  return {
    starts: Number(row?.starts ?? 0),
    amount: Number(row?.amount ?? 0),
    underWay: Number(row?.under_way ?? 0),
  }
}

async function append(
  tx: SqlQuery,
  where: Where,
  sealed: readonly SealedEvent[],
  {state, at, audit, due = []}: Commit,
): Promise<void> {
  if (audit) await insertAudit(tx, audit)
  if (sealed.length === 0) return
  await insertEvents(tx, where, sealed)
  await tx.query(
    `UPDATE hf_sessions SET head = $3, state = $4, agent = $5, title = $6, updated_at = $7,
       created_at = CASE WHEN head = 0 THEN $7 ELSE created_at END
     WHERE tenant = $1 AND id = $2`,
    [where.tenant, where.session, state.head, ...[state, state.agent, state.title].map(jsonText), at],
  )
  await projectEvents(tx, where, sealed, at)
  for (const change of due) await changeDue(tx, change)
}

async function insertEvents(tx: SqlQuery, where: Where, sealed: readonly SealedEvent[]): Promise<void> {
  const rows = sealed.map(({event, hash}): SqlValue[] => {
    const body = JSON.stringify(eventContent(event))
    const {seq, id, device, deviceSeq, kind} = event
    return [where.tenant, where.session, seq, id, device, deviceSeq, kind, hash, body.length, body]
  })
  await tx.query(
    `INSERT INTO hf_events (tenant, session, seq, id, device, device_seq, kind, content_hash, bytes, body)
     VALUES ${valuesList(rows.length, 10)}`,
    rows.flat(),
  )
}
