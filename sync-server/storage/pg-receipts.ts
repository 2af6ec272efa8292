import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {DeviceId, OperationId, SessionId, SubjectId} from '../../runtime/protocol/ids.ts'
import type {ErasureRef, LayerCount, StoredReceipt} from './erasure-book.ts'
import type {SqlQuery} from './sql.ts'

export type ErasureRow = {
  tenant: string
  id: string
  subject: string
  session: string | null
  sessions: string
  requested_by: string | null
  derived: number
  layers: string
  requested_at: number
  erased_at: number | null
  files_at: number | null
  /** When its last row was erased, if later than `erased_at`. */
  files_from: number | null
  completed_at: number | null
}

export async function erasureRow(tx: SqlQuery, {tenant, erasure}: ErasureRef): Promise<ErasureRow | null> {
  const [row] = await tx.query<ErasureRow>('SELECT * FROM hf_erasures WHERE tenant = $1 AND id = $2', [tenant, erasure])
  return row ?? null
}

export async function receipt(tx: SqlQuery, ref: ErasureRef): Promise<StoredReceipt | null> {
  const row = await erasureRow(tx, ref)
  if (!row) return null
  const {devices, operations} = await outstanding(tx, ref)
  const status = row.completed_at !== null ? 'complete' : row.erased_at !== null ? 'waiting' : 'erasing'
  const stored: ErasureReceipt = {
    erasure: ref.erasure,
    subject: row.subject as SubjectId,
    session: row.session as SessionId | null,
    requestedBy: row.requested_by as SubjectId | null,
    status,
    requestedAt: Number(row.requested_at),
    completedAt: row.completed_at === null ? null : Number(row.completed_at),
    layers: JSON.parse(row.layers) as LayerCount[],
    outstanding: {devices, operations, files: row.files_at === null},
  }
  const erasedAt = row.files_from ?? row.erased_at
  return {receipt: stored, erasedAt: erasedAt === null ? null : Number(erasedAt)}
}

async function outstanding(tx: SqlQuery, {tenant, erasure}: ErasureRef) {
  const devices = await tx.query<{device: string; last_seen: number | null}>(
    `SELECT p.device, d.last_seen FROM hf_purges p
     LEFT JOIN hf_erasures e ON e.tenant = p.tenant AND e.id = p.erasure
     LEFT JOIN hf_devices d ON d.tenant = p.tenant AND d.subject = p.subject AND d.subject = e.subject AND d.id = p.device
     WHERE p.tenant = $1 AND p.erasure = $2 AND p.purged_at IS NULL ORDER BY p.device`,
    [tenant, erasure],
  )
  const operations = await tx.query<{id: string}>(
    `SELECT id FROM hf_operations WHERE tenant = $1 AND status IN ('started', 'uncertain')
       AND session IN (SELECT session FROM hf_tombstones WHERE tenant = $1 AND erasure = $2) ORDER BY id`,
    [tenant, erasure],
  )
  return {
    devices: devices.map(row => ({device: row.device as DeviceId, lastSeenAt: Number(row.last_seen ?? 0)})),
    operations: operations.map(row => row.id as OperationId),
  }
}

/** Completes an erasure if nothing is outstanding. Called in the transaction of each step that may be the last. */
export async function completeIfDone(tx: SqlQuery, ref: ErasureRef, at: number): Promise<void> {
  const row = await erasureRow(tx, ref)
  if (!row || row.completed_at !== null || row.erased_at === null || row.files_at === null) return
  const {devices, operations} = await outstanding(tx, ref)
  if (devices.length > 0 || operations.length > 0) return
  await tx.query('UPDATE hf_erasures SET completed_at = $3 WHERE tenant = $1 AND id = $2', [
    ref.tenant,
    ref.erasure,
    at,
  ])
}
