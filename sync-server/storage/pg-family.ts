import type {Envelope} from '../../runtime/protocol/event.ts'
import type {SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {SqlQuery} from './sql.ts'

type Member = {id: SessionId; parent: SessionId | null; updatedAt: number}
export type Family = readonly Member[]

/**
 * Returns every session of a subject with its parent, locked in the order of their ids, so that concurrent erasures
 * cannot deadlock.
 */
export async function lockFamily(tx: SqlQuery, tenant: TenantId, subject: SubjectId): Promise<Family> {
  const rows = await tx.query<{id: string; state: string; updated_at: number}>(
    'SELECT id, state, updated_at FROM hf_sessions WHERE tenant = $1 AND subject = $2 ORDER BY id FOR UPDATE',
    [tenant, subject],
  )
  return rows.map(row => ({
    id: row.id as SessionId,
    parent: (JSON.parse(row.state) as SessionState).forkedFrom?.session ?? null,
    updatedAt: Number(row.updated_at),
  }))
}

/**
 * Returns the branches created from work done apart from this session, recursively. Their first events are copies of
 * events written into the session, or for it. [CUS-4, RET-2]
 */
export async function keptBranchesOf(
  tx: SqlQuery,
  tenant: TenantId,
  family: Family,
  session: SessionId,
): Promise<Member[]> {
  const kept: Member[] = []
  for (const member of family) {
    if (member.parent !== session || !(await holdsCopies(tx, tenant, member.id))) continue
    kept.push(member, ...(await keptBranchesOf(tx, tenant, family, member.id)))
  }
  return kept
}

/** A device's event has `causes` only if it was copied. The SQL pattern alone would also match tool output. */
async function holdsCopies(tx: SqlQuery, tenant: TenantId, session: SessionId): Promise<boolean> {
  const rows = await tx.query<{body: string}>(
    `SELECT body FROM hf_events WHERE tenant = $1 AND session = $2 AND device IS NOT NULL AND POSITION('"causes":' IN body) > 0`,
    [tenant, session],
  )
  return rows.some(({body}) => ((JSON.parse(body) as Envelope).causes ?? []).length > 0)
}
