import type {SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {LayerCount} from './erasure-book.ts'
import type {SqlQuery} from './sql.ts'

/** Erases a subject's approver keys and its text in delegations and audit. Who did what and when is kept. */
export async function eraseApprover(
  tx: SqlQuery,
  {tenant, subject, at}: {tenant: TenantId; subject: SubjectId; at: number},
): Promise<LayerCount[]> {
  const keys = await tx.query('DELETE FROM hf_approver_keys WHERE tenant = $1 AND subject = $2 RETURNING id', [
    tenant,
    subject,
  ])
  const lent = await tx.query(
    `UPDATE hf_delegations SET reason = '""' WHERE tenant = $1 AND from_subject = $2 AND reason <> '""' RETURNING id`,
    [tenant, subject],
  )
  // A delegation ends with its lender and with its receiver.
  await tx.query(
    `UPDATE hf_delegations SET revoked_at = $3
     WHERE tenant = $1 AND (from_subject = $2 OR to_subject = $2) AND revoked_at IS NULL`,
    [tenant, subject, at],
  )
  const audited = await tx.query(
    `UPDATE hf_audit SET reason = '""' WHERE tenant = $1 AND subject = $2 AND reason <> '""' RETURNING id`,
    [tenant, subject],
  )
  return [
    {name: 'approver keys', removed: keys.length, kept: null},
    {name: 'delegations', removed: lent.length, kept: 'who lent which role to whom and when'},
    {name: 'reasons in the audit trail', removed: audited.length, kept: 'who did what and when'},
  ]
}
