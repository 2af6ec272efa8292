import {HoldfastError} from '../protocol/errors.ts'
import type {EventId, SessionId} from '../protocol/ids.ts'
import type {DurableEvent} from '../protocol/transcript.ts'
import type {LogWindow} from './device-store.ts'
import {type EventRow, rows, type Sql, toDurable} from './pglite-rows.ts'

/** Where an event stands in the log of its session. */
type Place = {session: SessionId; place: number; deviceSeq: number; id: string}
type Part = {session: SessionId; upTo: number}

const endOfLog = Number.MAX_SAFE_INTEGER
/** After every event at its place. */
const lastId = '\u007f'

/** The newest events before a place that fit, of a session and of what it inherits. */
export async function readWindow(sql: Sql, session: SessionId, asked: LogWindow) {
  const parts = await lineage(sql, session)
  const before = asked.before ? await placeOf(sql, parts, asked.before) : null
  const found: DurableEvent[] = []
  let bytes = 0
  let from = before ? parts.findIndex(part => part.session === before.session) : 0
  for (; from < parts.length; from++) {
    const part = parts[from]!
    const end = before?.session === part.session ? before : endOf(part)
    const room = {events: asked.events - found.length, bytes: asked.bytes - bytes}
    const read = await newest(sql, part, end, {...room, including: asked.including === true && end === before})
    found.unshift(...read.events)
    bytes += read.bytes
    if (read.more) return {events: found, earlier: true}
    if (found.length >= asked.events || bytes > asked.bytes) break
  }
  return {events: found, earlier: from < parts.length - 1}
}

/** Results, verdicts and receipts that came at or after an event, oldest first. */
export async function outcomesAfter(
  sql: Sql,
  session: SessionId,
  event: EventId,
  limit: number,
): Promise<DurableEvent[]> {
  const parts = await lineage(sql, session)
  const {session: own, place, deviceSeq, id} = await placeOf(sql, parts, event)
  const upTo = parts.find(part => part.session === own)?.upTo ?? endOfLog
  const found = await rows<EventRow>(
    sql,
    `select status, place, body, reason, divergence from holdfast_events
     where session = $1 and (place, device_seq, id) >= ($2, $3, $4) and place <= $5
       and (kind = 'tool.returned' or kind like 'operation.%' or kind like 'approval.%')
     order by place, device_seq, id limit $6`,
    [own, place, deviceSeq, id, upTo, limit],
  )
  return found.map(toDurable)
}

async function newest(
  sql: Sql,
  {session, upTo}: Part,
  end: Place,
  room: {events: number; bytes: number; including: boolean},
) {
  // Sizes come from the index and the row's header: only what fits is read and decompressed.
  const found = await rows<EventRow & {size: number; total: number; device_seq: number; id: string}>(
    sql,
    `select * from (
       select status, place, body, reason, divergence, device_seq, id, octet_length(body) as size,
         sum(octet_length(body)) over (order by place desc, device_seq desc, id desc) as total
       from (
         select * from holdfast_events
         where session = $1 and (place, device_seq, id) ${room.including ? '<=' : '<'} ($2, $3, $4) and place <= $5
         order by place desc, device_seq desc, id desc limit $6
       ) as recent
     ) as sized where total - size <= $7 order by place desc, device_seq desc, id desc`,
    [session, end.place, end.deviceSeq, end.id, upTo, room.events + 1, Math.max(0, room.bytes)],
  )
  const kept = found.slice(0, Math.max(1, room.events))
  const last = kept.at(-1)
  const more = last !== undefined && (await hasBefore(sql, session, last))
  const events = kept.map(toDurable).reverse()
  return {events, bytes: Number(last?.total ?? 0), more}
}

async function hasBefore(sql: Sql, session: SessionId, at: {place: number; device_seq: number; id: string}) {
  const found = await rows(
    sql,
    'select 1 from holdfast_events where session = $1 and (place, device_seq, id) < ($2, $3, $4) limit 1',
    [session, at.place, at.device_seq, at.id],
  )
  return found.length > 0
}

/** The session and its ancestors, each with the last seq that is inherited of it. */
async function lineage(sql: Sql, session: SessionId): Promise<Part[]> {
  const parts: Part[] = [{session, upTo: endOfLog}]
  for (let last = parts[0]; last; ) {
    const found = await rows<{parent: string; parent_seq: number}>(
      sql,
      'select parent, parent_seq from holdfast_sessions where id = $1 and parent is not null',
      [last.session],
    )
    last = found.map(row => ({session: row.parent as SessionId, upTo: Number(row.parent_seq)}))[0]
    if (last) parts.push(last)
  }
  return parts
}

async function placeOf(sql: Sql, parts: readonly Part[], id: EventId): Promise<Place> {
  const [row] = await rows<{session: string; place: number; device_seq: number}>(
    sql,
    'select session, place, device_seq from holdfast_events where id = $1 and session = any($2::text[])',
    [id, parts.map(({session}) => session)],
  )
  if (!row) throw new HoldfastError('not_found', `event ${id}: not in this session`)
  return {session: row.session as SessionId, place: Number(row.place), deviceSeq: Number(row.device_seq), id}
}

function endOf({session, upTo}: Part): Place {
  return {session, place: upTo, deviceSeq: endOfLog, id: lastId}
}
