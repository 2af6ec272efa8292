import type {BusyPolicy} from '../protocol/busy-policy.ts'
import type {CorrelationId} from '../protocol/ids.ts'
import type {Pin, PinnedVersion, Route} from '../protocol/pin.ts'
import type {AgentHost} from './define.ts'
import {describeAgent} from './describe-agent.ts'

/** The parts of a pin that describe an agent's version in this build, with the model of that label. */
export async function pinnedVersionOf({agent, modelProfiles}: AgentHost, label: string): Promise<PinnedVersion> {
  const {version, tools, toolsHash, instructionsHash} = await describeAgent(agent)
  return {version, tools: [...tools], toolsHash, instructionsHash, model: {label, ...modelProfiles?.[label]}}
}

/** The whole contract that a run starts with. [PIN-1] */
export async function pinOf(start: {
  host: AgentHost
  model: string
  busy: BusyPolicy
  route: Route
  correlation: CorrelationId
}): Promise<Pin> {
  const {host, model, busy, route, correlation} = start
  const {name, policy, budgets, memory} = host.agent
  return {
    agent: name,
    ...(await pinnedVersionOf(host, model)),
    policy: {...policy, busy},
    budgets,
    memory,
    route,
    correlation,
  }
}
