import type {SubjectId} from '../protocol/ids.ts'
import {localSubject} from '../protocol/person.ts'
import {rows, type Sql} from './pglite-rows.ts'

type Body = {actor?: {type?: string; subject?: string}}

/**
 * What was written before this device had a server becomes the work of the person who is the first to sign in: the
 * server takes nothing in another's name. Only pending events are changed, which nobody else has seen. [ID-6]
 */
export async function claimLocalEvents(sql: Sql, subject: SubjectId): Promise<void> {
  const found = await rows<{id: string; body: string}>(
    sql,
    `select id, body from holdfast_events where status = 'pending' and position($1 in body) > 0`,
    [`"subject":${JSON.stringify(localSubject)}`],
  )
  for (const {id, body} of found) {
    const event = JSON.parse(body) as Body
    if (event.actor?.type !== 'person' || event.actor.subject !== localSubject) continue
    event.actor.subject = subject
    await sql.query('update holdfast_events set body = $2 where id = $1', [id, JSON.stringify(event)])
  }
}
