import type {OperationId, RunId, SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import type {Sql} from './sql.ts'
import type {Ledger, LedgerRow} from './store.ts'

export function pgLedger(sql: Sql, across: Sql): Ledger {
  return {
    operation: async ({tenant, operation}) => {
      const [row] = await sql.query<OperationRow>('SELECT * FROM hf_operations WHERE tenant = $1 AND id = $2', [
        tenant,
        operation,
      ])
      return row ? ledgerRow(row) : null
    },
    open: async ({startedBefore, limit}) => {
      const rows = await across.query<{tenant: string; id: string}>(
        `SELECT tenant, id FROM hf_operations
         WHERE status IN ('proposed', 'authorised', 'started', 'uncertain')
           AND (status <> 'started' OR updated_at < $1)
         ORDER BY updated_at, id LIMIT $2`,
        [startedBefore, limit],
      )
      return rows.map(row => ({tenant: row.tenant as TenantId, operation: row.id as OperationId}))
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
    proposedAt: Number(row.proposed_at),
    updatedAt: Number(row.updated_at),
  }
}
