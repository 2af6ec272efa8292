import * as z from 'zod'
import {badInput, HoldfastError} from '../protocol/errors.ts'
import type {Route} from '../protocol/pin.ts'
import {type AgentHost, lacking} from './define.ts'

/** An agent that this build can run. `active`: the registry names this version for new runs. */
export type Candidate = {agent: string; version: string; active: boolean}

export type RouteRequest = {
  /** The session's own agent. */
  agent: string
  /** Text of the message that starts the run. */
  message: string
  /** Newest version first within an agent. */
  candidates: readonly Candidate[]
  /** Active versions by agent as the registry has them, also those that are not in this build. */
  active: Readonly<Record<string, string>>
}

/** `rule` and `table` stand in the pin, so that one can look up later why this agent answered. */
export type Routed = {agent: string; version: string; route: {rule: string; table: string}}

/**
 * Chooses agent and version of a new run. Called once per run: later changes do not affect a run that is pinned.
 * [PIN-2]
 */
export type Router = (request: RouteRequest) => Routed | Promise<Routed>

/** Active versions as this device knows them; `ageMs` is how old its copy is, null while the server keeps it fresh. */
export type RegistryReading = {active: Readonly<Record<string, string>>; ageMs: number | null}

/** The active version of the session's agent if this build has it, else the newest that it has. */
export const defaultRouter: Router = ({agent, candidates}) => {
  const own = candidates.filter(candidate => candidate.agent === agent)
  const active = own.find(candidate => candidate.active)
  const chosen = active ?? own[0]
  if (!chosen) throw lacking(`This build has no agent named "${agent}".`)
  return {
    agent,
    version: chosen.version,
    route: {rule: active ? 'active-version' : 'newest-build', table: 'default/1'},
  }
}

const routedSchema = z.strictObject({
  agent: z.string(),
  version: z.string(),
  route: z.strictObject({rule: z.string().min(1).max(100), table: z.string().min(1).max(100)}),
})

/**
 * Asks the router and finds what it names.
 *
 * @throws HoldfastError that the loop waits on, when the answer is none that this build can follow; then nothing starts
 */
export async function chooseHost(
  ask: {router: Router | undefined; hosts: readonly AgentHost[]; registry: RegistryReading | null},
  request: {agent: string; message: string},
): Promise<{host: AgentHost; route: Route}> {
  const {router = defaultRouter, hosts, registry} = ask
  const active = registry?.active ?? {}
  const given = await answerOf(router, {...request, candidates: candidatesOf(hosts, active), active})
  const answer = routedSchema.safeParse(given)
  if (!answer.success) {
    const {message} = badInput('router', answer.error, given)
    throw lacking(`The router gave no answer of agent, version and route: ${message}.`)
  }
  const {agent, version, route} = answer.data
  const host = hosts.find(one => one.agent.name === agent && one.agent.version === version)
  if (!host) {
    const has = hosts.map(one => `"${one.agent.name}" ${one.agent.version}`).join(', ')
    throw lacking(`The router chose version ${version} of "${agent}"; this build has ${has}.`)
  }
  const age = registry?.ageMs ?? null
  return {host, route: {...route, ...(age !== null && {registryAgeMs: age})}}
}

async function answerOf(router: Router, request: RouteRequest): Promise<unknown> {
  try {
    return await router(request)
  } catch (error) {
    if (error instanceof HoldfastError && error.details.waitFor) throw error
    throw lacking(`The router failed: ${HoldfastError.from(error).message}.`)
  }
}

function candidatesOf(hosts: readonly AgentHost[], active: RouteRequest['active']): Candidate[] {
  return hosts
    .map(({agent: {name, version}}) => ({agent: name, version, active: active[name] === version}))
    .sort((a, b) => compareVersions(b.version, a.version))
}

/** Numbers as numbers, so that 1.10 follows 1.9; whatever else as text. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split(/[.+-]/), b.split(/[.+-]/)]
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [one = '', other = ''] = [left[i], right[i]]
    if (one === other) continue
    const numeric = /^\d+$/.test(one) && /^\d+$/.test(other)
    return numeric ? Number(one) - Number(other) : one < other ? -1 : 1
  }
  return 0
}
