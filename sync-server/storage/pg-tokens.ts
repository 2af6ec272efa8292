import {type CallRow, callRow, insertParts, partsAfter, refValues, spentValues} from './pg-model-rows.ts'
import type {Sql} from './sql.ts'
import type {TokenStore} from './token-store.ts'

/** Maximum rows per read. Each row contains the parts of one write. */
const readRows = 200

export function pgTokens(sql: Sql, across: Sql): TokenStore {
  return {
    append: (ref, owner, chunk, {leaseUntil, spent}) =>
      sql.transaction(async tx => {
        const [held] = await tx.query<{followed_until: number}>(
          `UPDATE hf_model_calls SET lease_until = $5, parts = $6, input_tokens = $7, output_tokens = $8,
             cost_micros = $9, estimated = $10
           WHERE tenant = $1 AND subject = $2 AND key = $3 AND owner = $4 AND status = 'open'
           RETURNING followed_until`,
          [...refValues(ref), owner, leaseUntil, chunk.first - 1 + chunk.parts.length, ...spentValues(spent)],
        )
        if (!held) return null
        await insertParts(tx, ref, chunk)
        return {followedUntil: Number(held.followed_until)}
      }),
    read: async (ref, after) => {
      // Read the call first: parts added between the two reads are then returned early, and the end is never seen too
      // early.
      const [call] = await sql.query<CallRow>(
        'SELECT * FROM hf_model_calls WHERE tenant = $1 AND subject = $2 AND key = $3',
        refValues(ref),
      )
      if (!call) return null
      const rows = await sql.query<{first: number; body: string}>(
        `SELECT first, body FROM hf_model_parts
         WHERE tenant = $1 AND subject = $2 AND key = $3 AND first >= COALESCE(
           (SELECT MAX(first) FROM hf_model_parts
            WHERE tenant = $1 AND subject = $2 AND key = $3 AND first <= $4), 0)
         ORDER BY first LIMIT ${readRows}`,
        [...refValues(ref), after + 1],
      )
      return {call: callRow(call), parts: partsAfter(rows, after)}
    },
    follow: async (ref, until) => {
      await sql.query(
        `UPDATE hf_model_calls SET followed_until = $4
         WHERE tenant = $1 AND subject = $2 AND key = $3 AND status = 'open' AND followed_until < $4`,
        [...refValues(ref), until],
      )
    },
    forget: (endedBefore, limit) =>
      across.transaction(async tx => {
        const calls = await tx.query<{tenant: string; subject: string; key: string}>(
          `SELECT tenant, subject, key FROM hf_model_calls c WHERE ended_at < $1 AND EXISTS
             (SELECT 1 FROM hf_model_parts p WHERE p.tenant = c.tenant AND p.subject = c.subject AND p.key = c.key)
           ORDER BY ended_at LIMIT $2`,
          [endedBefore, limit],
        )
        for (const {tenant, subject, key} of calls) {
          await tx.query('DELETE FROM hf_model_parts WHERE tenant = $1 AND subject = $2 AND key = $3', [
            tenant,
            subject,
            key,
          ])
        }
        return calls.length
      }),
    erase: ({tenant, subject, session}) =>
      sql.transaction(async tx => {
        const which = `tenant = $1 AND subject = $2${session === undefined ? '' : ' AND session = $3'}`
        const params = session === undefined ? [tenant, subject] : [tenant, subject, session]
        await tx.query(
          `DELETE FROM hf_model_parts WHERE tenant = $1 AND subject = $2 AND key IN
             (SELECT key FROM hf_model_calls WHERE ${which})`,
          params,
        )
        // Clearing the owner stops the process of an open call from adding parts.
        const erased = await tx.query<{key: string}>(
          `UPDATE hf_model_calls SET session = NULL, run = NULL, step = NULL, attempt = NULL, try = NULL, owner = '',
             ended_at = COALESCE(ended_at, lease_until), status = CASE status WHEN 'open' THEN 'aborted' ELSE status END
           WHERE ${which} RETURNING key`,
          params,
        )
        return erased.length
      }),
  }
}
