import {sameJson} from '../../runtime/protocol/json.ts'
import type {AgentListing, AgentManifest} from '../../runtime/protocol/wire.ts'
import {insertAudit} from './pg-audit.ts'
import type {Sql, SqlQuery} from './sql.ts'
import type {AgentBook} from './store.ts'

export function pgAgents(sql: Sql): AgentBook {
  return {
    publish: (where, manifest, audit) =>
      sql.transaction(async tx => {
        const {tenant, name} = where
        const made = await tx.query(
          `INSERT INTO hf_agent_versions (tenant, name, version, manifest, published_by, published_at)
           VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING version`,
          [tenant, name, manifest.version, JSON.stringify(manifest), audit.subject, audit.at],
        )
        if (made.length > 0) {
          await insertAudit(tx, audit)
          return 'published'
        }
        return isSame(await manifestOf(tx, where, manifest.version), manifest) ? 'known' : 'conflict'
      }),
    activate: (where, version, audit) =>
      sql.transaction(async tx => {
        if (!(await manifestOf(tx, where, version))) return false
        await tx.query(
          `INSERT INTO hf_active_versions (tenant, name, version, moved_by, moved_at) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (tenant, name) DO UPDATE SET version = $3, moved_by = $4, moved_at = $5`,
          [where.tenant, where.name, version, audit.subject, audit.at],
        )
        await insertAudit(tx, audit)
        return true
      }),
    list: async (tenant, limit) => {
      const rows = await sql.query<{name: string; manifest: string; published_at: number; active: string | null}>(
        `SELECT v.name, v.manifest, v.published_at, a.version AS active FROM hf_agent_versions v
         LEFT JOIN hf_active_versions a ON a.tenant = v.tenant AND a.name = v.name
         WHERE v.tenant = $1 ORDER BY v.published_at DESC, v.name, v.version LIMIT $2`,
        [tenant, limit],
      )
      const agents = new Map<string, AgentListing>()
      for (const {name, manifest, published_at, active} of rows) {
        const agent = agents.get(name) ?? {name, active, versions: []}
        agent.versions.push({...(JSON.parse(manifest) as AgentManifest), publishedAt: Number(published_at)})
        agents.set(name, agent)
      }
      return [...agents.values()]
    },
  }
}

/** Manifests of earlier builds have no hash of the instructions and are compared without it. */
function isSame(known: AgentManifest | null, manifest: AgentManifest): boolean {
  if (!known) return false
  if (known.instructionsHash && manifest.instructionsHash) return sameJson(known, manifest)
  const rest = ({instructionsHash: _, ...each}: AgentManifest) => each
  return sameJson(rest(known), rest(manifest))
}

async function manifestOf(
  tx: SqlQuery,
  {tenant, name}: {tenant: string; name: string},
  version: string,
): Promise<AgentManifest | null> {
  const [row] = await tx.query<{manifest: string}>(
    'SELECT manifest FROM hf_agent_versions WHERE tenant = $1 AND name = $2 AND version = $3',
    [tenant, name, version],
  )
  return row ? (JSON.parse(row.manifest) as AgentManifest) : null
}
