import type {PGlite, Transaction} from '@electric-sql/pglite'
import {type Said, sayingKinds, withoutSaid} from '../protocol/decision-words.ts'
import type {Envelope} from '../protocol/event.ts'
import type {ErasureId, EventId, SessionId, SubjectId} from '../protocol/ids.ts'
import {carryingKinds, eventsNamed, withoutInherited} from '../protocol/inherited.ts'
import type {ErasedSession} from './device-store.ts'

type Sql = Pick<Transaction, 'query'>

/** Every table of the device that holds something of one session. */
const tablesOfSession = [
  'holdfast_events',
  'holdfast_documents',
  'holdfast_document_updates',
  'holdfast_divergences',
  'holdfast_blobs',
] as const

/** Copies that are of a subject and of no session. */
export const tablesOfSubject = [
  'holdfast_facts',
  'holdfast_memory',
  'holdfast_memory_cursor',
  'holdfast_memory_proposals',
  'holdfast_memory_outbox',
  'holdfast_memory_runs',
  'holdfast_memory_vectors',
] as const

export async function eraseSession(
  tx: Sql,
  session: SessionId,
  {erasure, why, at}: Omit<ErasedSession, 'session' | 'unsent'>,
): Promise<void> {
  await tx.query(
    `insert into holdfast_erased (session, erasure, why, at, unsent)
     select $1, $2, $3, $4, count(*) from holdfast_events
       where session = $1 and kind = 'message.posted' and status <> 'accepted'
     on conflict (session) do update set unsent = holdfast_erased.unsent + excluded.unsent`,
    [session, erasure, why, at],
  )
  for (const table of tablesOfSession) await tx.query(`delete from ${table} where session = $1`, [session])
  await tx.query('delete from holdfast_sessions where id = $1', [session])
}

/** As the server does: what a branch that stays has of its source in events of its own goes from them. [RET-2] */
export async function dropInherited(tx: Sql, session: SessionId): Promise<void> {
  const {rows} = await tx.query<{body: string}>(
    `select body from holdfast_events where session = $1 and kind = any($2::text[]) order by place, device_seq, id`,
    [session, carryingKinds],
  )
  const events = rows.map(({body}) => JSON.parse(body) as Envelope)
  const own = await tx.query<{id: string}>(
    'select id from holdfast_events where session = $1 and id = any($2::text[])',
    [session, eventsNamed(events)],
  )
  for (const event of withoutInherited(events, new Set(own.rows.map(({id}) => id as EventId)))) {
    await tx.query('update holdfast_events set body = $2 where id = $1', [event.id, JSON.stringify(event)])
  }
}

/** Also of events that are pending, refused or set aside. [RET-2] */
export async function dropWords(tx: Sql, session: SessionId, saidBy: SubjectId, said: readonly Said[]): Promise<void> {
  const {rows} = await tx.query<{body: string}>(
    'select body from holdfast_events where session = $1 and kind = any($2::text[])',
    [session, sayingKinds],
  )
  for (const {body} of rows) {
    const event = withoutSaid(JSON.parse(body) as Envelope, saidBy, said)
    if (event) await tx.query('update holdfast_events set body = $2 where id = $1', [event.id, JSON.stringify(event)])
  }
}

type Row = {session: string; erasure: string; why: ErasedSession['why']; at: number; unsent: number}

export async function erasedRows(sql: Sql, rest: string, params: unknown[] = []): Promise<ErasedSession[]> {
  const {rows} = await sql.query<Row>(`select session, erasure, why, at, unsent from holdfast_erased ${rest}`, params)
  return rows.map(row => ({
    session: row.session as SessionId,
    erasure: row.erasure as ErasureId,
    why: row.why,
    at: Number(row.at),
    unsent: Number(row.unsent),
  }))
}

/**
 * A deleted row stays readable in the files until its page is written anew, and in the write-ahead log until that is
 * dropped. The application's tables are rewritten too: what a tool has deleted there is gone as well.
 */
export async function scrub(db: PGlite): Promise<void> {
  const {rows} = await db.query<{name: string}>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  for (const {name} of rows) await db.query(`vacuum (full) ${name}`)
  await db.query(`select set_config('wal_recycle', 'off', false)`)
  await db.query('checkpoint')
  await db.query('select pg_switch_wal()')
  await db.query('checkpoint')
}
