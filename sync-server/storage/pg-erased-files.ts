import type {ErasureId, TenantId} from '../../runtime/protocol/ids.ts'
import type {ErasureRef} from './erasure-book.ts'
import {completeIfDone, type ErasureRow} from './pg-receipts.ts'
import type {Sql, SqlQuery} from './sql.ts'

/** The input of an effect that ended after its session was erased is in the files longer than the other rows. */
const lastErased = 'erased_at IS NOT NULL AND files_at IS NULL AND COALESCE(files_from, erased_at)'

export async function filesWaiting(across: SqlQuery, before: number, limit: number): Promise<ErasureRef[]> {
  const rows = await across.query<Pick<ErasureRow, 'tenant' | 'id'>>(
    `SELECT tenant, id FROM hf_erasures WHERE ${lastErased} <= $1 ORDER BY requested_at LIMIT $2`,
    [before, limit],
  )
  return rows.map(row => ({tenant: row.tenant as TenantId, erasure: row.id as ErasureId}))
}

export async function filesDone(sql: Sql, refs: readonly ErasureRef[], before: number, at: number): Promise<void> {
  for (const ref of refs) {
    await sql.transaction(async tx => {
      await tx.query(`UPDATE hf_erasures SET files_at = $4 WHERE tenant = $1 AND id = $2 AND ${lastErased} <= $3`, [
        ref.tenant,
        ref.erasure,
        before,
        at,
      ])
      await completeIfDone(tx, ref, at)
    })
  }
}
