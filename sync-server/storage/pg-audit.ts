import {v7} from 'uuid'
import type {SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Sql, SqlQuery} from './sql.ts'
import type {AuditEntry, AuditTrail} from './store.ts'

export function pgAudit(sql: Sql): AuditTrail {
  return {
    record: entry => insertAudit(sql, entry),
    about: async (tenant, about) => {
      const rows = await sql.query<AuditRow>(
        'SELECT * FROM hf_audit WHERE tenant = $1 AND about = $2 ORDER BY at, id',
        [tenant, about],
      )
      return rows.map(toEntry)
    },
    page: async (tenant, after, limit) => {
      const rows = await sql.query<AuditRow & {id: string}>(
        'SELECT * FROM hf_audit WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3',
        [tenant, after, limit + 1],
      )
      const entries = rows.slice(0, limit).map(row => ({id: row.id, ...toEntry(row)}))
      return {entries, next: rows.length > limit ? (entries.at(-1)?.id ?? null) : null}
    },
  }
}

function toEntry(row: AuditRow): AuditEntry {
  return {
    tenant: row.tenant as TenantId,
    subject: row.subject as SubjectId,
    action: row.action,
    about: row.about,
    reason: JSON.parse(row.reason),
    at: Number(row.at),
  }
}

type AuditRow = {
  tenant: string
  subject: string
  action: AuditEntry['action']
  about: string
  reason: string
  at: number
}

export async function insertAudit(sql: SqlQuery, entry: AuditEntry): Promise<void> {
  const {tenant, subject, action, about, reason, at} = entry
  await sql.query(
    'INSERT INTO hf_audit (tenant, id, subject, action, about, reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [tenant, v7(), subject, action, about, JSON.stringify(reason), at],
  )
}
