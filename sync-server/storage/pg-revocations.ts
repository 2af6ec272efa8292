import type {Sql} from './sql.ts'
import type {Revocations} from './store.ts'

/** Stands for every token of a subject that was issued until then. */
const everyToken = ''

export function pgRevocations(sql: Sql): Revocations {
  return {
    revoke: async ({tenant, subject}, token, at) => {
      await sql.query(
        `INSERT INTO hf_revocations (tenant, subject, token, at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant, subject, token) DO UPDATE SET at = GREATEST(hf_revocations.at, excluded.at)`,
        [tenant, subject, token ?? everyToken, at],
      )
    },
    isRevoked: async ({tenant, subject}, token) => {
      const rows = await sql.query(
        `SELECT 1 FROM hf_revocations WHERE tenant = $1 AND subject = $2
           AND CASE WHEN token = $4 THEN at >= $5 ELSE token = $3 END LIMIT 1`,
        [tenant, subject, token.id, everyToken, token.issuedAt],
      )
      return rows.length > 0
    },
  }
}
