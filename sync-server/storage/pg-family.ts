import type {Envelope} from '../../runtime/protocol/event.ts'
import type {SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {SqlQuery} from './sql.ts'

type Member = {id: SessionId; parent: SessionId | null; updatedAt: number}
export type Family = readonly Member[]

/**
 * Every session of a subject and what it branched off, locked in the order of their ids, so that two erasures wait for
 * each other instead of blocking each other for ever.
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
 * The branches that were made of work done apart from this session, and those made of them: what begins them was
 * written into the session, or for it, and is in them once more. [CUS-4, RET-2]
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

/** An event of a device names a cause only when it was copied; the pattern alone would find a tool's output too. */
async function holdsCopies(tx: SqlQuery, tenant: TenantId, session: SessionId): Promise<boolean> {
  const rows = await tx.query<{body: string}>(
    `SELECT body FROM hf_events WHERE tenant = $1 AND session = $2 AND device IS NOT NULL AND POSITION('"causes":' IN body) > 0`,
    [tenant, session],
  )
  return rows.some(({body}) => ((JSON.parse(body) as Envelope).causes ?? []).length > 0)
}
