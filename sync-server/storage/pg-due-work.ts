import type {TenantId} from '../../runtime/protocol/ids.ts'
import type {DueChange, DueItem, DueName, DueWork} from './due-work.ts'
import type {Sql, SqlQuery} from './sql.ts'

/** `across` claims due work of all tenants. Every other statement names one tenant. */
export function pgDueWork(sql: Sql, across: Sql): DueWork {
  return {
    claim: async ({now, leaseMs, limit}) => {
      // The condition is repeated in the UPDATE: after waiting for a row that another process leased, it must not
      // match.
      const rows = await across.query<DueRow>(
        `UPDATE hf_due SET leased_until = $2, attempts = attempts + 1
         WHERE leased_until <= $1 AND due_at <= $1 AND (tenant, name, key) IN
           (SELECT tenant, name, key FROM hf_due WHERE leased_until <= $1 AND due_at <= $1 ORDER BY due_at LIMIT $3)
         RETURNING *`,
        [now, now + leaseMs, limit],
      )
      return rows.map(dueItem).sort((a, b) => a.dueAt - b.dueAt)
    },
    claimOne: async ({tenant, name, key}, {now, leaseMs}) => {
      const [row] = await sql.query<DueRow>(
        `UPDATE hf_due SET leased_until = $5, attempts = attempts + 1
         WHERE tenant = $1 AND name = $2 AND key = $3 AND leased_until <= $4 RETURNING *`,
        [tenant, name, key, now, now + leaseMs],
      )
      return row ? dueItem(row) : null
    },
    postpone: async ({tenant, name, key, lease, attempts}, dueAt) => {
      await sql.query(
        `UPDATE hf_due SET due_at = $5, leased_until = 0, attempts = $6
         WHERE tenant = $1 AND name = $2 AND key = $3 AND leased_until = $4`,
        [tenant, name, key, lease, dueAt, attempts],
      )
    },
    finish: async ({tenant, name, key, lease}) => {
      await sql.query('DELETE FROM hf_due WHERE tenant = $1 AND name = $2 AND key = $3 AND leased_until = $4', [
        tenant,
        name,
        key,
        lease,
      ])
    },
    takeOver: async now => {
      await across.query(
        `UPDATE hf_due SET leased_until = 0, due_at = CASE WHEN due_at > $1 THEN $1 ELSE due_at END
         WHERE leased_until > 0 OR attempts > 0`,
        [now],
      )
    },
  }
}

export async function changeDue(tx: SqlQuery, {tenant, name, key, dueAt, body = ''}: DueChange): Promise<void> {
  if (dueAt === null) {
    await tx.query('DELETE FROM hf_due WHERE tenant = $1 AND name = $2 AND key = $3', [tenant, name, key])
    return
  }
  await tx.query(
    `INSERT INTO hf_due (tenant, name, key, due_at, attempts, leased_until, body) VALUES ($1, $2, $3, $4, 0, 0, $5)
     ON CONFLICT (tenant, name, key) DO UPDATE SET due_at = $4, attempts = 0, body = $5`,
    [tenant, name, key, dueAt, body],
  )
}

type DueRow = {
  tenant: string
  name: DueName
  key: string
  due_at: number
  attempts: number
  leased_until: number
  body: string
}

function dueItem(row: DueRow): DueItem {
  return {
    tenant: row.tenant as TenantId,
    name: row.name,
    key: row.key,
    dueAt: Number(row.due_at),
    attempts: Number(row.attempts),
    lease: Number(row.leased_until),
    body: row.body,
  }
}
