import {type SubjectId, subjectIdSchema, type TenantId, tenantIdSchema} from '../protocol/ids.ts'
import {localSubject, type Person} from '../protocol/person.ts'
import {rows, type Sql} from './pglite-rows.ts'

type OwnerRow = {tenant: string | null; subject: string | null}

/** As it was recorded; for a database of an earlier build the author of its first message. [ID-6] */
export async function ownerOf(sql: Sql): Promise<{tenant: TenantId | null; subject: SubjectId} | null> {
  const [row] = await rows<OwnerRow>(sql, 'select tenant, subject from holdfast_device')
  if (row?.subject) {
    const tenant = row.tenant === null ? null : tenantIdSchema.parse(row.tenant)
    return {tenant, subject: subjectIdSchema.parse(row.subject)}
  }
  const subject = await firstAuthor(sql)
  return subject === null || subject === localSubject ? null : {tenant: null, subject}
}

/** The row of the device is there: it is made when the database is first asked for its device. */
export async function setOwner(sql: Sql, {tenant, subject}: Person): Promise<void> {
  await sql.query('update holdfast_device set tenant = $1, subject = $2', [tenant, subject])
}

/** Events, and changes and proposals of memory, that the server does not have yet. */
export async function countUnsent(sql: Sql): Promise<number> {
  const [row] = await rows<{unsent: number}>(
    sql,
    `select (select count(*) from holdfast_events where status = 'pending')
       + (select count(*) from holdfast_memory_outbox where refused is null)
       + (select count(*) from holdfast_memory_proposals) as unsent`,
  )
  return Number(row?.unsent ?? 0)
}

async function firstAuthor(sql: Sql): Promise<SubjectId | null> {
  const found = await rows<{body: string}>(
    sql,
    `select body from holdfast_events where kind in ('session.opened', 'message.posted') order by id limit 50`,
  )
  for (const {body} of found) {
    const {actor} = JSON.parse(body) as {actor?: {type?: string; subject?: unknown}}
    const subject = subjectIdSchema.safeParse(actor?.type === 'person' ? actor.subject : null)
    if (subject.success) return subject.data
  }
  return null
}
