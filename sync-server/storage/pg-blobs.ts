import {fromBase64, toBase64} from '../../runtime/protocol/base64.ts'
import type {BlobId, BlobRef} from '../../runtime/protocol/blob.ts'
import type {SessionId, TenantId} from '../../runtime/protocol/ids.ts'
import type {BlobPut, BlobRoom, BlobShelf} from './blob-shelf.ts'
import {placeholders, type Sql, type SqlQuery} from './sql.ts'

/** Key of the advisory lock: "blob" in ASCII. Arbitrary, but must never change. */
const roomLock = 0x626c6f62

const mySession = 'SELECT id FROM hf_sessions WHERE tenant = $1 AND id = $2 AND subject = $3'

/** Bytes are transferred as base64: PGlite's own encoding of large byte arrays takes about ten times as long. */
export function pgBlobs(sql: Sql, across: Sql): BlobShelf {
  return {
    put: ({tenant, subject}, session, {id, bytes, at}, room) =>
      sql.transaction(async tx => {
        // Lock the session row, as an erasure and every append do, so that neither runs concurrently.
        const [mine] = await tx.query(`${mySession} FOR UPDATE`, [tenant, session, subject])
        if (!mine) return null
        const known = await hold(tx, {tenant, session, id, at})
        if (known === 'bytes') return {kept: true}
        const put = await roomFor(tx, {tenant, session, bytes: bytes.length}, room)
        await tx.query(
          `INSERT INTO hf_blobs (tenant, session, id, size, bytes, named, at) VALUES ($1, $2, $3, $4, DECODE(CAST($5 AS TEXT), 'base64'), 0, $6)
           ON CONFLICT (tenant, session, id) DO UPDATE SET bytes = excluded.bytes`,
          [tenant, session, id, bytes.length, put.kept ? toBase64(bytes) : null, at],
        )
        return put
      }),
    get: async ({tenant, subject}, session, id) => {
      const [row] = await sql.query<{bytes: string | null}>(
        `SELECT ENCODE(bytes, 'base64') AS bytes FROM hf_blobs WHERE tenant = $1 AND session IN (${mySession}) AND id = $4`,
        [tenant, session, subject, id],
      )
      return row ? {bytes: row.bytes === null ? null : fromBase64(row.bytes)} : null
    },
    dropUnnamed: async (before, limit) => {
      const dropped = await across.query(
        `DELETE FROM hf_blobs WHERE named = 0 AND (tenant, session, id) IN
           (SELECT tenant, session, id FROM hf_blobs WHERE named = 0 AND at < $1 ORDER BY at LIMIT $2) RETURNING 1`,
        [before, limit],
      )
      return dropped.length
    },
  }
}

type Place = {tenant: TenantId; session: SessionId}

/** Restarts the period in which an event must reference the blob. */
async function hold(
  tx: SqlQuery,
  {tenant, session, id, at}: Place & {id: BlobId; at: number},
): Promise<'bytes' | 'nothing'> {
  const [row] = await tx.query<{kept: boolean}>(
    `UPDATE hf_blobs SET at = $4 WHERE tenant = $1 AND session = $2 AND id = $3 RETURNING bytes IS NOT NULL AS kept`,
    [tenant, session, id, at],
  )
  return row?.kept ? 'bytes' : 'nothing'
}

/**
 * Serialises the uploads of a tenant. Taken after the session lock by every caller, so that the lock order is the
 * same and no deadlock can occur.
 */
async function roomFor(
  tx: SqlQuery,
  {tenant, session, bytes}: Place & {bytes: number},
  room: BlobRoom,
): Promise<BlobPut> {
  await tx.query('SELECT pg_advisory_xact_lock($2, hashtext($1))', [tenant, roomLock])
  const [row] = await tx.query<{mine: number | null; all_of_it: number | null}>(
    `SELECT SUM(CASE WHEN session = $2 THEN size END) AS mine, SUM(size) AS all_of_it
     FROM hf_blobs WHERE tenant = $1 AND bytes IS NOT NULL`,
    [tenant, session],
  )
  const used: BlobRoom = {sessionBytes: Number(row?.mine ?? 0), tenantBytes: Number(row?.all_of_it ?? 0)}
  for (const full of ['sessionBytes', 'tenantBytes'] as const) {
    if (used[full] + bytes > room[full]) return {kept: false, full, used: used[full]}
  }
  return {kept: true}
}

/**
 * Returns the referenced blobs that are missing or have another size. The others are locked until the transaction
 * ends.
 */
export async function lackingBlobs(
  tx: SqlQuery,
  {tenant, session}: Place,
  refs: readonly BlobRef[],
): Promise<BlobId[]> {
  if (refs.length === 0) return []
  const rows = await tx.query<{id: string; size: number}>(
    `SELECT id, size FROM hf_blobs
     WHERE tenant = $1 AND session = $2 AND id IN (${placeholders(refs.length, 2)}) ORDER BY id FOR UPDATE`,
    [tenant, session, ...refs.map(({$blob}) => $blob)],
  )
  const sizes = new Map(rows.map(({id, size}) => [id, Number(size)]))
  return refs.flatMap(({$blob, bytes}) => (sizes.get($blob) === bytes ? [] : [$blob]))
}

export async function nameBlobs(tx: SqlQuery, {tenant, session}: Place, refs: readonly BlobRef[]): Promise<void> {
  if (refs.length === 0) return
  await tx.query(
    `UPDATE hf_blobs SET named = 1 WHERE tenant = $1 AND session = $2 AND id IN (${placeholders(refs.length, 2)})`,
    [tenant, session, ...refs.map(({$blob}) => $blob)],
  )
}
