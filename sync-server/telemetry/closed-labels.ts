/**
 * A metric keeps every combination of labels that it ever met, so what a caller can invent must not become one. Values
 * come from closed sets, and what is not in its set is counted as `other`.
 */
export const other = '_OTHER'

/** https://opentelemetry.io/docs/specs/semconv/http/http-metrics names `_OTHER` for methods that are not known. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE', 'QUERY'])

export function methodLabel(method: string): string {
  return methods.has(method) ? method : other
}

/**
 * The pattern of the route that a request was for. Wildcards belong to middleware, or to a host that answers whatever
 * is left; neither says what was asked for.
 */
export function routeLabel(matched: readonly string[]): string {
  return matched.findLast(path => !path.includes('*')) ?? other
}

const mostTenants = 200
const agentsOfOne = 20

/**
 * Lets the first names through and counts the rest as `other`. Agents are named by devices, in the pins of their runs;
 * each tenant has a number of its own, so that none can use up the names of another.
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
