import type {Envelope} from '../../runtime/protocol/event.ts'
import type {EventId, SessionId, TenantId} from '../../runtime/protocol/ids.ts'
import {carryingKinds, eventsNamed, withoutInherited} from '../../runtime/protocol/inherited.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import {foldSlots, slotHistoryKinds} from '../../runtime/protocol/slots.ts'
import {jsonText} from './project-events.ts'
import {placeholders, type SqlQuery} from './sql.ts'

/**
 * Removes from a kept branch the content that its own events carry from its source. The hash stays that of the
 * original event, so that a second delivery is recognised. [LOG-3, RET-2]
 */
export async function dropInherited(tx: SqlQuery, tenant: TenantId, branch: SessionId): Promise<void> {
  const events = await eventsOf(tx, tenant, branch, carryingKinds)
  for (const event of withoutInherited(events, await ownOf(tx, tenant, branch, eventsNamed(events)))) {
    await tx.query('UPDATE hf_events SET body = $4 WHERE tenant = $1 AND session = $2 AND id = $3', [
      tenant,
      branch,
      event.id,
      jsonText(event),
    ])
  }
  const slots = foldSlots(await eventsOf(tx, tenant, branch, slotHistoryKinds))
  const [row] = await tx.query<{state: string}>('SELECT state FROM hf_sessions WHERE tenant = $1 AND id = $2', [
    tenant,
    branch,
  ])
  if (!row) return
  const state = {...(JSON.parse(row.state) as SessionState), title: null, slots}
  await tx.query(`UPDATE hf_sessions SET title = 'null', state = $3 WHERE tenant = $1 AND id = $2`, [
    tenant,
    branch,
    jsonText(state),
  ])
}

async function eventsOf(tx: SqlQuery, tenant: TenantId, session: SessionId, kinds: readonly string[]) {
  const rows = await tx.query<{body: string}>(
    `SELECT body FROM hf_events WHERE tenant = $1 AND session = $2 AND kind IN (${placeholders(kinds.length, 2)}) ORDER BY seq`,
    [tenant, session, ...kinds],
  )
  return rows.map(({body}) => JSON.parse(body) as Envelope)
}

async function ownOf(tx: SqlQuery, tenant: TenantId, session: SessionId, ids: EventId[]): Promise<Set<EventId>> {
  if (ids.length === 0) return new Set()
  const rows = await tx.query<{id: string}>(
    `SELECT id FROM hf_events WHERE tenant = $1 AND session = $2 AND id IN (${placeholders(ids.length, 2)})`,
    [tenant, session, ...ids],
  )
  return new Set(rows.map(({id}) => id as EventId))
}
