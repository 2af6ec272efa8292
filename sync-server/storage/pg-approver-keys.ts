import type {ApproverKeyId, SubjectId} from '../../runtime/protocol/ids.ts'
import type {KeyBook, StoredKey} from './approver-records.ts'
import {insertAudit} from './pg-audit.ts'
import type {Sql} from './sql.ts'

export function pgApproverKeys(sql: Sql): KeyBook {
  return {
    add: (tenant, wish, audit, atMost) =>
      sql.transaction(async tx => {
        const {key, subject, publicKey, label, createdAt} = wish
        // Rows that do not exist yet cannot be locked, so lock the subject.
        await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`approver keys ${tenant} ${subject}`])
        const inForce = await tx.query<Row>(
          'SELECT * FROM hf_approver_keys WHERE tenant = $1 AND subject = $2 AND revoked_at IS NULL',
          [tenant, subject],
        )
        const same = inForce.find(row => row.public_key === publicKey)
        if (same) return keyOf(same)
        if (inForce.length >= atMost) return null
        await tx.query(
          `INSERT INTO hf_approver_keys (tenant, id, subject, public_key, label, created_at)
           VALUES ($1, $2, $3, $4, $5, $6)`,
          [tenant, key, subject, publicKey, JSON.stringify(label), createdAt],
        )
        await insertAudit(tx, audit)
        return wish
      }),
    get: async (tenant, key) => {
      const [row] = await sql.query<Row>('SELECT * FROM hf_approver_keys WHERE tenant = $1 AND id = $2', [tenant, key])
      return row ? keyOf(row) : null
    },
    list: async ({tenant, subject}) => {
      const rows = await sql.query<Row>(
        'SELECT * FROM hf_approver_keys WHERE tenant = $1 AND subject = $2 ORDER BY created_at DESC, id DESC',
        [tenant, subject],
      )
      return rows.map(keyOf)
    },
    revoke: (tenant, key, at, audit) =>
      sql.transaction(async tx => {
        const revoked = await tx.query(
          `UPDATE hf_approver_keys SET revoked_at = $3 WHERE tenant = $1 AND id = $2 AND revoked_at IS NULL RETURNING id`,
          [tenant, key, at],
        )
        if (revoked.length > 0) await insertAudit(tx, audit)
        return revoked.length > 0
      }),
  }
}

type Row = {
  id: string
  subject: string
  public_key: string
  label: string
  created_at: number
  revoked_at: number | null
}

function keyOf(row: Row): StoredKey {
  return {
    key: row.id as ApproverKeyId,
    subject: row.subject as SubjectId,
    publicKey: row.public_key,
    label: JSON.parse(row.label),
    createdAt: Number(row.created_at),
    revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
  }
}
