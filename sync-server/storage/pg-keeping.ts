import type {SessionId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Keeping} from './erasure-book.ts'
import type {Sql} from './sql.ts'

export function pgKeeping(sql: Sql): Keeping {
  return {
    idleSessions: async (before, limit) => {
      const rows = await sql.query<{tenant: string; id: string}>(
        'SELECT tenant, id FROM hf_sessions WHERE updated_at < $1 ORDER BY updated_at LIMIT $2',
        [before, limit],
      )
      return rows.map(row => ({tenant: row.tenant as TenantId, session: row.id as SessionId}))
    },
    dropReceipts: (before, limit) =>
      sql.transaction(async tx => {
        const rows = await tx.query<{tenant: string; id: string}>(
          `SELECT tenant, id FROM hf_operations o WHERE updated_at < $1
             AND status IN ('executed', 'failed', 'refused', 'rejected', 'expired', 'voided')
             AND EXISTS (SELECT 1 FROM hf_tombstones t WHERE t.tenant = o.tenant AND t.session = o.session)
           ORDER BY updated_at LIMIT $2`,
          [before, limit],
        )
        for (const {tenant, id} of rows) {
          await tx.query('DELETE FROM hf_approvals WHERE tenant = $1 AND operation = $2', [tenant, id])
          await tx.query('DELETE FROM hf_operations WHERE tenant = $1 AND id = $2', [tenant, id])
        }
        return rows.length
      }),
    dropAudit: async (before, limit) => {
      const dropped = await sql.query(
        `DELETE FROM hf_audit WHERE (tenant, id) IN (SELECT tenant, id FROM hf_audit WHERE at < $1 ORDER BY at LIMIT $2)
         RETURNING 1`,
        [before, limit],
      )
      return dropped.length
    },
  }
}
