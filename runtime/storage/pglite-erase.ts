import type {PGlite, Transaction} from '@electric-sql/pglite'
import type {ErasureId, SessionId} from '../protocol/ids.ts'
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

export async function dropInheritedTitle(tx: Sql, session: SessionId): Promise<void> {
  const {rows} = await tx.query<{id: string; body: string}>(
    `select id, body from holdfast_events where session = $1 and kind = 'session.forked'`,
    [session],
  )
  for (const {id, body} of rows) {
    const {data, ...event} = JSON.parse(body) as {data: {title?: string}}
    const {title: _, ...untitled} = data
    await tx.query('update holdfast_events set body = $2 where id = $1', [
      id,
      JSON.stringify({...event, data: untitled}),
    ])
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
