import type {Delegation} from '../../runtime/protocol/delegation.ts'
import type {DelegationId, SubjectId} from '../../runtime/protocol/ids.ts'
import type {DelegationBook} from './approver-records.ts'
import {insertAudit} from './pg-audit.ts'
import type {Sql} from './sql.ts'

export function pgDelegations(sql: Sql): DelegationBook {
  return {
    add: (tenant, wish, audit) =>
      sql.transaction(async tx => {
        const {delegation, role, from, to, until, reason, createdAt} = wish
        // Rows that do not exist yet cannot be locked, so lock the lender.
        await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`delegations ${tenant} ${from}`])
        const [renewed] = await tx.query<Row>(
          `UPDATE hf_delegations SET until = $5, reason = $6
           WHERE tenant = $1 AND id = (
             SELECT id FROM hf_delegations WHERE tenant = $1 AND role = $2 AND from_subject = $3 AND to_subject = $4
               AND revoked_at IS NULL AND until > $7 ORDER BY created_at, id LIMIT 1)
           RETURNING *`,
          [tenant, role, from, to, until, JSON.stringify(reason), createdAt],
        )
        if (!renewed) {
          await tx.query(
            `INSERT INTO hf_delegations (tenant, id, role, from_subject, to_subject, until, reason, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
            [tenant, delegation, role, from, to, until, JSON.stringify(reason), createdAt],
          )
        }
        const inForce = renewed ? delegationOf(renewed) : wish
        await insertAudit(tx, {...audit, about: inForce.delegation})
        return inForce
      }),
    get: async (tenant, delegation) => {
      const [row] = await sql.query<Row>('SELECT * FROM hf_delegations WHERE tenant = $1 AND id = $2', [
        tenant,
        delegation,
      ])
      return row ? delegationOf(row) : null
    },
    list: async ({tenant, subject}, limit) => {
      const rows = await sql.query<Row>(
        `SELECT * FROM hf_delegations WHERE tenant = $1 AND (from_subject = $2 OR to_subject = $2)
         ORDER BY created_at DESC, id DESC LIMIT $3`,
        [tenant, subject, limit],
      )
      return rows.map(delegationOf)
    },
    inForce: async ({tenant, subject}, now) => {
      const rows = await sql.query<Row>(
        `SELECT * FROM hf_delegations WHERE tenant = $1 AND to_subject = $2 AND until > $3 AND revoked_at IS NULL
         ORDER BY created_at, id`,
        [tenant, subject, now],
      )
      return rows.map(delegationOf)
    },
    holders: async (tenant, role, now) => {
      const rows = await sql.query<{to_subject: string}>(
        `SELECT DISTINCT to_subject FROM hf_delegations
         WHERE tenant = $1 AND role = $2 AND until > $3 AND revoked_at IS NULL`,
        [tenant, role, now],
      )
      return rows.map(row => row.to_subject as SubjectId)
    },
    // An earlier build inserted a second row when the same role was delegated again: revoke all of them.
    revoke: (tenant, delegation, at, audit) =>
      sql.transaction(async tx => {
        const revoked = await tx.query<{id: string}>(
          `UPDATE hf_delegations AS each SET revoked_at = $3 FROM hf_delegations AS named
           WHERE named.tenant = $1 AND named.id = $2 AND each.tenant = $1 AND each.role = named.role
             AND each.from_subject = named.from_subject AND each.to_subject = named.to_subject
             AND each.revoked_at IS NULL AND (each.id = named.id OR each.until > $3) RETURNING each.id`,
          [tenant, delegation, at],
        )
        for (const {id} of revoked) await insertAudit(tx, {...audit, about: id})
        return revoked.length > 0
      }),
    revokeAllFrom: ({tenant, subject}, at, audit) =>
      sql.transaction(async tx => {
        const revoked = await tx.query<{id: string; to_subject: string}>(
          `UPDATE hf_delegations SET revoked_at = $3
           WHERE tenant = $1 AND from_subject = $2 AND revoked_at IS NULL AND until > $3 RETURNING id, to_subject`,
          [tenant, subject, at],
        )
        for (const {id} of revoked) await insertAudit(tx, {...audit, about: id})
        return [...new Set(revoked.map(row => row.to_subject as SubjectId))]
      }),
  }
}

type Row = {
  id: string
  role: string
  from_subject: string
  to_subject: string
  until: number
  reason: string
  created_at: number
  revoked_at: number | null
}

function delegationOf(row: Row): Delegation {
  return {
    delegation: row.id as DelegationId,
    role: row.role,
    from: row.from_subject as SubjectId,
    to: row.to_subject as SubjectId,
    until: Number(row.until),
    reason: JSON.parse(row.reason),
    createdAt: Number(row.created_at),
    revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
  }
}
