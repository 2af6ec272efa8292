import type {InboxItem} from '../../runtime/protocol/approval.ts'
import type {ApprovalId, OperationId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import {placeholders, type Sql} from './sql.ts'
import type {ApprovalBook} from './store.ts'

export function pgApprovals(sql: Sql, across: Sql): ApprovalBook {
  return {
    get: async (tenant, approval) => {
      const [row] = await sql.query<ApprovalRow>('SELECT * FROM hf_approvals WHERE tenant = $1 AND id = $2', [
        tenant,
        approval,
      ])
      return row ? inboxItem(row) : null
    },
    inbox: async (tenant, roles, status, limit) => {
      if (roles.length === 0) return []
      const open = status === 'open' ? `AND status = 'open'` : ''
      const rows = await sql.query<ApprovalRow>(
        `SELECT * FROM hf_approvals WHERE tenant = $1 AND role IN (${placeholders(roles.length, 2)}) ${open}
         ORDER BY requested_at DESC, id DESC LIMIT $2`,
        [tenant, limit, ...roles],
      )
      return rows.map(inboxItem)
    },
    overdue: async (now, limit) => {
      const rows = await across.query<{tenant: string; id: string}>(
        `SELECT tenant, id FROM hf_approvals WHERE status = 'open' AND expires_at <= $1 ORDER BY expires_at LIMIT $2`,
        [now, limit],
      )
      return rows.map(row => ({tenant: row.tenant as TenantId, approval: row.id as ApprovalId}))
    },
  }
}

type ApprovalRow = {
  id: string
  operation: string
  session: string
  run: string
  requested_by: string
  role: string
  reason: string
  digest: string
  shown: string
  status: InboxItem['status']
  decided_by: string | null
  note: string
  requested_at: number
  expires_at: number
  decided_at: number | null
}

function inboxItem(row: ApprovalRow): InboxItem {
  return {
    approval: row.id as ApprovalId,
    operation: row.operation as OperationId,
    session: row.session,
    run: row.run,
    requestedBy: row.requested_by as SubjectId,
    role: row.role,
    reason: JSON.parse(row.reason),
    digest: row.digest,
    shown: JSON.parse(row.shown),
    status: row.status,
    decidedBy: row.decided_by as SubjectId | null,
    note: JSON.parse(row.note),
    requestedAt: Number(row.requested_at),
    expiresAt: Number(row.expires_at),
    decidedAt: row.decided_at === null ? null : Number(row.decided_at),
  }
}
