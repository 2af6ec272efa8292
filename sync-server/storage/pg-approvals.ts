import type {ApprovalRecord} from '../../runtime/protocol/approval.ts'
import type {ApprovalId, OperationId, SubjectId} from '../../runtime/protocol/ids.ts'
import {placeholders, type Sql} from './sql.ts'
import type {ApprovalBook} from './store.ts'

export function pgApprovals(sql: Sql): ApprovalBook {
  return {
    get: async (tenant, approval) => {
      const [row] = await sql.query<ApprovalRow>('SELECT * FROM hf_approvals WHERE tenant = $1 AND id = $2', [
        tenant,
        approval,
      ])
      return row ? approvalRecord(row) : null
    },
    of: async ({tenant, operation}) => {
      const [row] = await sql.query<ApprovalRow>('SELECT * FROM hf_approvals WHERE tenant = $1 AND operation = $2', [
        tenant,
        operation,
      ])
      return row ? approvalRecord(row) : null
    },
    inbox: async (tenant, roles, status, limit) => {
      if (roles.length === 0) return []
      const open = status === 'open' ? `AND status = 'open'` : ''
      const list = placeholders(roles.length, 2)
      const rows = await sql.query<ApprovalRow>(
        `SELECT * FROM hf_approvals
         WHERE tenant = $1 AND (role IN (${list}) OR (escalated_at IS NOT NULL AND escalates_to IN (${list}))) ${open}
         ORDER BY requested_at DESC, id DESC LIMIT $2`,
        [tenant, limit, ...roles],
      )
      return rows.map(approvalRecord)
    },
    rolesAsked: async (tenant, sessions) => {
      const roles = new Set<string>()
      for (const session of sessions) {
        const rows = await sql.query<{role: string; escalated: string | null}>(
          `SELECT DISTINCT role, CASE WHEN escalated_at IS NOT NULL THEN escalates_to END AS escalated
           FROM hf_approvals WHERE tenant = $1 AND session = $2`,
          [tenant, session],
        )
        for (const row of rows) for (const role of [row.role, row.escalated]) if (role !== null) roles.add(role)
      }
      return [...roles]
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
  status: ApprovalRecord['status']
  approvers: number
  endorsements: string
  requester_may_decide: number
  escalates_to: string | null
  escalates_at: number | null
  escalated_at: number | null
  decided_by: string | null
  note: string
  requested_at: number
  expires_at: number
  decided_at: number | null
}

function approvalRecord(row: ApprovalRow): ApprovalRecord {
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
    approvers: Number(row.approvers),
    endorsements: JSON.parse(row.endorsements),
    requesterMayDecide: Number(row.requester_may_decide) === 1,
    escalation: row.escalates_to === null ? null : escalationOf(row, row.escalates_to),
    decidedBy: row.decided_by as SubjectId | null,
    note: JSON.parse(row.note),
    requestedAt: Number(row.requested_at),
    expiresAt: Number(row.expires_at),
    decidedAt: row.decided_at === null ? null : Number(row.decided_at),
  }
}

function escalationOf(row: ApprovalRow, role: string): NonNullable<ApprovalRecord['escalation']> {
  return {role, at: Number(row.escalates_at), happened: row.escalated_at !== null}
}
