import type {SessionId, TenantId} from '../../runtime/protocol/ids.ts'
import type {LayerCount} from './erasure-book.ts'
import type {SqlQuery} from './sql.ts'

type RowLayer = {name: string; kept: string | null; statement: string}

const ofSession = 'tenant = $1 AND session = $2'
const approvalsOfSession = `SELECT id FROM hf_approvals WHERE ${ofSession}`
const operationsOfSession = `SELECT id FROM hf_operations WHERE ${ofSession}`
const ended = `status IN ('executed', 'failed', 'refused', 'rejected', 'expired', 'voided')`
const notStarted = `status IN ('proposed', 'awaiting_approval', 'authorised')`
const why = JSON.stringify('The session was erased.')

/**
 * Every layer of this store, in the order of erasure: audit entries are found by their approvals, so they come first.
 * Documents are part of the transcript. The receipt of an effect is a business record and is kept, with who requested
 * and who decided it, the digest and the times. All other text is erased.
 */
const layers: readonly RowLayer[] = [
  {
    name: 'audit',
    kept: 'who did what and when',
    statement: `UPDATE hf_audit SET reason = '""'
      WHERE tenant = $1 AND (about IN (${approvalsOfSession}) OR about IN (${operationsOfSession})) AND reason <> '""'`,
  },
  {
    name: 'approvals',
    kept: 'who decided what and when, with the digest',
    statement: `UPDATE hf_approvals SET reason = '""', endorsements = '[]',
        note = CASE WHEN status = 'open' THEN '${why}' ELSE 'null' END,
        status = CASE WHEN status = 'open' THEN 'voided' ELSE status END,
        shown = (SELECT '{"tool":' || o.tool || ',"version":' || o.version || ',"input":null}' FROM hf_operations o
          WHERE o.tenant = $1 AND o.id = hf_approvals.operation)
      WHERE ${ofSession}`,
  },
  {
    name: 'ledger',
    kept: 'receipts and digests, and the input of an effect that has not ended',
    statement: `UPDATE hf_operations SET
        status = CASE WHEN ${notStarted} THEN 'voided' ELSE status END,
        outcome = CASE WHEN status = 'executed' THEN outcome WHEN ${notStarted} THEN '{"reason":${why}}' ELSE 'null' END,
        input = CASE WHEN ${ended} OR ${notStarted} THEN 'null' ELSE input END,
        basis = CASE WHEN ${ended} OR ${notStarted} THEN '{}' ELSE basis END
      WHERE ${ofSession}`,
  },
  {
    name: 'messages to webhooks',
    kept: null,
    statement: `DELETE FROM hf_due WHERE tenant = $1 AND name = 'webhook' AND POSITION($2 IN body) > 0`,
  },
  {
    name: 'documents',
    kept: null,
    statement: `DELETE FROM hf_events WHERE ${ofSession} AND kind = 'document.updated'`,
  },
  {name: 'blobs', kept: null, statement: `DELETE FROM hf_blobs WHERE ${ofSession}`},
  {name: 'transcript', kept: null, statement: `DELETE FROM hf_events WHERE ${ofSession}`},
  {name: 'calls', kept: null, statement: `DELETE FROM hf_calls WHERE ${ofSession}`},
  {name: 'runs', kept: null, statement: `DELETE FROM hf_runs WHERE ${ofSession}`},
  {name: 'run totals', kept: null, statement: `DELETE FROM hf_run_totals WHERE ${ofSession}`},
  {name: 'working state', kept: null, statement: 'DELETE FROM hf_sessions WHERE tenant = $1 AND id = $2'},
]

/** Erases the rows of these sessions. The caller must hold their row locks. */
export async function eraseRows(tx: SqlQuery, tenant: TenantId, sessions: readonly SessionId[]): Promise<LayerCount[]> {
  const counts: LayerCount[] = []
  for (const {name, kept, statement} of layers) {
    let removed = 0
    for (const session of sessions) {
      const [row] = await tx.query<{count: number}>(
        `WITH touched AS (${statement} RETURNING 1) SELECT COUNT(*) AS count FROM touched`,
        [tenant, session],
      )
      removed += Number(row?.count ?? 0)
    }
    counts.push({name, removed, kept})
  }
  return counts
}
