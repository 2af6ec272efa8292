/**
 * Label for values outside a closed set. A metric keeps every combination of labels forever, so a caller-defined
 * value must never become a label.
 */
export const other = '_OTHER'

/** https://opentelemetry.io/docs/specs/semconv/http/http-metrics defines `_OTHER` for unknown methods. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE', 'QUERY'])

export function methodLabel(method: string): string {
  return methods.has(method) ? method : other
}

/**
 * Returns the pattern of the matched route. Wildcards are skipped: they belong to middleware or to a host's fallback.
 */
export function routeLabel(matched: readonly string[]): string {
  return matched.findLast(path => !path.includes('*')) ?? other
}

const mostTenants = 200
const agentsOfOne = 20

/**
 * Admits the first names and maps the rest to `other`. Devices name agents in the pins of their runs, so each tenant
 * has a limit of its own and cannot use up the names of others.
 */
export function boundedLabels(): {tenant(tenant: string): string; agent(tenant: string, agent: string): string} {
  const known = new Map<string, Set<string>>()
  const tenantOf = (tenant: string) => {
    if (!known.has(tenant) && known.size < mostTenants) known.set(tenant, new Set())
    return known.has(tenant) ? tenant : other
  }
  return {
    tenant: tenantOf,
    agent: (tenant, agent) => {
      const agents = known.get(tenantOf(tenant))
      if (agents && agents.size < agentsOfOne) agents.add(agent)
      return agents?.has(agent) ? agent : other
    },
  }
}
