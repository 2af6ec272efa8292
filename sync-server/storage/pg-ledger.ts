import type {OperationId, RunId, SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import type {UncertainItem} from '../../runtime/protocol/wire.ts'
import {placeholders, type Sql} from './sql.ts'
import type {Ledger, LedgerRow} from './store.ts'

export function pgLedger(sql: Sql): Ledger {
  return {
    operation: async ({tenant, operation}) => {
      const [row] = await sql.query<OperationRow>('SELECT * FROM hf_operations WHERE tenant = $1 AND id = $2', [
        tenant,
        operation,
      ])
      return row ? ledgerRow(row) : null
    },
    uncertain: async (tenant, roles, limit) => {
      if (roles.length === 0) return []
      const rows = await sql.query<OperationRow>(
        `SELECT * FROM hf_operations
         WHERE tenant = $1 AND status = 'uncertain' AND verdict_role IN (${placeholders(roles.length, 2)})
         ORDER BY updated_at, id LIMIT $2`,
        [tenant, limit, ...roles],
      )
      return rows.map(row => uncertainItem(ledgerRow(row)))
    },
  }
}

type OperationRow = {
  tenant: string
  id: string
  session: string
  run: string
  requested_by: string
  tool: string
  version: string
  input: string
  basis: string
  digest: string | null
  status: OperationStatus
  outcome: string
  verdict_role: string | null
  proposed_at: number
  updated_at: number
}

function ledgerRow(row: OperationRow): LedgerRow {
  return {
    tenant: row.tenant as TenantId,
    operation: row.id as OperationId,
    session: row.session as SessionId,
    run: row.run as RunId,
    requestedBy: row.requested_by as SubjectId,
    tool: JSON.parse(row.tool),
    version: JSON.parse(row.version),
    input: JSON.parse(row.input),
    basis: JSON.parse(row.basis),
    digest: row.digest,
    status: row.status,
    outcome: JSON.parse(row.outcome),
    verdictRole: row.verdict_role,
    proposedAt: Number(row.proposed_at),
    updatedAt: Number(row.updated_at),
  }
}

function uncertainItem(row: LedgerRow): UncertainItem {
  const {operation, session, run, requestedBy, tool, version, input} = row
  const said = row.outcome
  const reason = said !== null && typeof said === 'object' && !Array.isArray(said) ? said.reason : null
  return {
    operation,
    session,
    run,
    requestedBy,
    role: row.verdictRole ?? '',
    digest: row.digest ?? '',
    shown: {tool, version, input},
    reason: typeof reason === 'string' ? reason : '',
    uncertainSince: row.updatedAt,
  }
}
