import {clockToleranceMs} from '../clock.ts'
import type {Owner} from '../principal.ts'
import type {Sql} from './sql.ts'
import type {Revocations} from './store.ts'

/** Token id that stands for every token of the subject issued up to `at`. */
const everyToken = ''

/** `at` of `everyToken` is the latest issue time of a token that was valid at the revocation. */
export function pgRevocations(sql: Sql): Revocations {
  return {
    revoke: async ({tenant, subject}, token, at) => {
      await sql.query(
        `INSERT INTO hf_revocations (tenant, subject, token, at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant, subject, token) DO UPDATE SET at = GREATEST(hf_revocations.at, excluded.at)`,
        [tenant, subject, token ?? everyToken, token === null ? at + clockToleranceMs : at],
      )
    },
    isRevoked: async (owner, token, now) => {
      const [found] = await sql.query<{token: string; at: number}>(
        `SELECT token, at FROM hf_revocations WHERE tenant = $1 AND subject = $2
           AND CASE WHEN token = $4 THEN at >= $5 ELSE token = $3 END ORDER BY token DESC LIMIT 1`,
        [owner.tenant, owner.subject, token.id, everyToken, token.issuedAt],
      )
      if (found?.token === everyToken && Number(found.at) > latestAt(now)) await bringBack(sql, owner, now)
      return found !== undefined
    },
  }
}

/** Latest time that this clock, or another within the tolerance, can have written. */
function latestAt(now: number): number {
  return now + 2 * clockToleranceMs
}

/** Corrects a time written by a clock that was ahead: it would refuse every token until that time is reached. */
async function bringBack(sql: Sql, {tenant, subject}: Owner, now: number): Promise<void> {
  await sql.query(`UPDATE hf_revocations SET at = $4 WHERE tenant = $1 AND subject = $2 AND token = $3 AND at > $5`, [
    tenant,
    subject,
    everyToken,
    now + clockToleranceMs,
    latestAt(now),
  ])
}
