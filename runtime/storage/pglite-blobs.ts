import {fromBase64, toBase64} from '../protocol/base64.ts'
import {type BlobId, blobsOf} from '../protocol/blob.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {LoggedEvent} from '../protocol/event.ts'
import type {BlobReads, BlobState, UnitOfWork} from './device-store.ts'
import {rows, type Sql} from './pglite-rows.ts'

/** Bytes go to PGlite and come back as base64: its own way with large ones takes about ten times as long. */
export function blobReads(sql: Sql): BlobReads {
  return {
    blob: async (session, id) => {
      const [row] = await rows<{bytes: string}>(
        sql,
        `with recursive family as (
           select $1::text as id, (select parent from holdfast_sessions where id = $1) as parent
           union select s.id, s.parent from holdfast_sessions s join family f on s.id = f.parent)
         select encode(b.bytes, 'base64') as bytes from holdfast_blobs b join family f on b.session = f.id where b.id = $2 limit 1`,
        [session, id],
      )
      return row ? fromBase64(row.bytes) : null
    },
    blobBytes: async session => {
      const [row] = await rows<{bytes: number | null}>(
        sql,
        'select sum(size)::bigint as bytes from holdfast_blobs where session = $1',
        [session],
      )
      return Number(row?.bytes ?? 0)
    },
    unsentBlobs: async session => {
      const found = await rows<{id: string; state: BlobState}>(
        sql,
        `select id, state from holdfast_blobs where session = $1 and state <> 'sent' order by place`,
        [session],
      )
      return found.map(({id, state}) => ({id: id as BlobId, noRoom: state === 'no_room'}))
    },
  }
}

export function blobWrites(sql: Sql): Pick<UnitOfWork, 'saveBlob'> {
  return {
    saveBlob: async (session, {id, bytes, state}) => {
      await sql.query(
        `insert into holdfast_blobs (session, id, size, bytes, state) values ($1, $2, $3, decode($4::text, 'base64'), $5)
         on conflict (session, id) do update set bytes = excluded.bytes
           where holdfast_blobs.bytes is distinct from excluded.bytes`,
        [session, id, bytes.length, toBase64(bytes), state],
      )
    },
  }
}

export async function markBlob(sql: Sql, session: string, id: BlobId, state: BlobState): Promise<void> {
  await sql.query('update holdfast_blobs set state = $3 where session = $1 and id = $2', [session, id, state])
}

/**
 * An event that is written here is never without the bytes it names. One that says again what another session holds, as
 * in a branch of work that was kept, gets a copy of them: what a session holds is its own. [LOG-5, CUS-4]
 *
 * @throws HoldfastError `bad_input` for bytes that this device does not have
 */
export async function requireBlobs(sql: Sql, event: LoggedEvent): Promise<void> {
  for (const {$blob} of blobsOf(event)) {
    const here = await rows(sql, 'select 1 from holdfast_blobs where session = $1 and id = $2', [event.session, $blob])
    if (here.length > 0) continue
    const copied = await rows(
      sql,
      `insert into holdfast_blobs (session, id, size, bytes, state)
       select $1, id, size, bytes, 'unsent' from holdfast_blobs where id = $2 limit 1 returning 1`,
      [event.session, $blob],
    )
    if (copied.length === 0) {
      throw new HoldfastError('bad_input', `event.data.blobs: the bytes of ${$blob} are not on this device`, {
        details: {field: 'data.blobs', blob: $blob},
      })
    }
  }
}
