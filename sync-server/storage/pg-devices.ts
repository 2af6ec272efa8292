import type {PurgeOrder, RedactionOrder} from '../../runtime/protocol/erasure.ts'
import type {DeviceId, ErasureId, SessionId, SubjectId} from '../../runtime/protocol/ids.ts'
import type {Owner} from '../principal.ts'
import {decidedSessions} from './erase-decisions.ts'
import type {DeviceRegister} from './erasure-book.ts'
import {completeIfDone} from './pg-receipts.ts'
import {jsonText} from './project-events.ts'
import type {Sql} from './sql.ts'

export function pgDevices(sql: Sql): DeviceRegister {
  return {
    seen: async ({tenant, subject}, device, at) => {
      await sql.query(
        `INSERT INTO hf_devices (tenant, subject, id, first_seen, last_seen) VALUES ($1, $2, $3, $4, $4)
         ON CONFLICT (tenant, subject, id) DO UPDATE SET last_seen = excluded.last_seen`,
        [tenant, subject, device, at],
      )
    },
    toPurge: async ({tenant, subject}, device, limit) => {
      const rows = await sql.query<PurgeRow>(
        `SELECT id, session, sessions, requested_by, requested_at FROM hf_erasures e
         WHERE tenant = $1 AND subject = $2 AND NOT EXISTS (SELECT 1 FROM hf_purges p
           WHERE p.tenant = $1 AND p.erasure = e.id AND p.device = $3 AND p.purged_at IS NOT NULL)
         ORDER BY requested_at, id LIMIT $4`,
        [tenant, subject, device, limit],
      )
      return rows.map(purgeOrder)
    },
    toRedact: (owner, device, limit) => toRedact(sql, owner, device, limit),
    purged: ({tenant, subject}, device, erasures, at) =>
      sql.transaction(async tx => {
        for (const erasure of erasures) {
          const [mine] = await tx.query(
            `INSERT INTO hf_purges (tenant, erasure, device, subject, purged_at)
             SELECT $1, id, $3, $4, CAST($5 AS BIGINT) FROM hf_erasures WHERE tenant = $1 AND id = $2
               AND (subject = $4 OR EXISTS (SELECT 1 FROM hf_purges
                 WHERE tenant = $1 AND erasure = $2 AND device = $3 AND subject = $4))
             ON CONFLICT (tenant, erasure, device) DO UPDATE
               SET purged_at = COALESCE(hf_purges.purged_at, excluded.purged_at) RETURNING erasure`,
            [tenant, erasure, device, subject, at],
          )
          if (mine) await completeIfDone(tx, {tenant, erasure}, at)
        }
      }),
    isStale: async ({tenant, subject}, device) => {
      const rows = await sql.query(
        `SELECT 1 FROM hf_purges WHERE tenant = $1 AND device = $2 AND subject = $3 AND purged_at IS NULL
           AND erasure IN (SELECT id FROM hf_erasures WHERE tenant = $1 AND subject = $3 AND session IS NULL) LIMIT 1`,
        [tenant, device, subject],
      )
      return rows.length > 0
    },
  }
}

/** Decisions keep the name of their author, so the sessions can be found after the text is erased. */
async function toRedact(sql: Sql, {tenant, subject}: Owner, device: DeviceId, limit: number) {
  const erasures = await sql.query<{id: string; subject: string}>(
    `SELECT e.id, e.subject FROM hf_purges p JOIN hf_erasures e ON e.tenant = p.tenant AND e.id = p.erasure
     WHERE p.tenant = $1 AND p.subject = $2 AND p.device = $3 AND p.purged_at IS NULL AND e.subject <> $2
     ORDER BY e.requested_at, e.id LIMIT $4`,
    [tenant, subject, device, limit],
  )
  const orders: RedactionOrder[] = []
  for (const {id, subject: saidBy} of erasures) {
    const sessions = await sql.query<{id: string}>(
      `SELECT id FROM hf_sessions WHERE tenant = $1 AND subject = $3 AND id IN (${decidedSessions}) ORDER BY id`,
      [tenant, jsonText(saidBy), subject],
    )
    orders.push({
      erasure: id as ErasureId,
      saidBy: saidBy as SubjectId,
      sessions: sessions.map(row => row.id as SessionId),
    })
  }
  return orders
}

type PurgeRow = {
  id: string
  session: string | null
  sessions: string
  requested_by: string | null
  requested_at: number
}

function purgeOrder(row: PurgeRow): PurgeOrder {
  return {
    erasure: row.id as ErasureId,
    whole: row.session === null,
    sessions: row.session === null ? [] : (JSON.parse(row.sessions) as SessionId[]),
    at: Number(row.requested_at),
    why: row.requested_by === null ? 'retention' : 'requested',
  }
}
