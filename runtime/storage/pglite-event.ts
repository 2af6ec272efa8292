import type {LoggedEvent} from '../protocol/event.ts'
import type {EventId, SessionId} from '../protocol/ids.ts'
import {rows, type Sql} from './pglite-rows.ts'
import {readStored} from './read-stored.ts'

/** An event of a session, or one that it inherits: a confirmed one up to where it branched off. [RUN-6] */
export async function eventIn(sql: Sql, session: SessionId, id: EventId): Promise<LoggedEvent | null> {
  const [row] = await rows<{body: string}>(
    sql,
    `with recursive family as (
       select $1::text as id, null::bigint as up_to
       union all
       select s.parent, s.parent_seq::bigint from holdfast_sessions s join family f on s.id = f.id where s.parent is not null)
     select e.body from holdfast_events e join family f on e.session = f.id
     where e.id = $2 and e.status <> 'rejected' and (f.up_to is null or (e.status = 'accepted' and e.place <= f.up_to))
     limit 1`,
    [session, id],
  )
  return row ? readStored(JSON.parse(row.body)) : null
}
