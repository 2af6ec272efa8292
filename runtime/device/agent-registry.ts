import type {RegistryReading} from '../loop/route.ts'
import type {Environment} from '../protocol/environment.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {ServerLink} from '../sync/server-link.ts'

export interface AgentRegistry {
  /** Returns this device's copy, or null. Never waits for the network: a run must start offline. */
  read(): Promise<RegistryReading | null>
  /** Fetches the registry: on every connect, and when a version was published or activated. */
  refresh(): Promise<void>
}

type Parts = {
  store: DeviceStore
  link: Pick<ServerLink, 'agents'> | null
  environment: Environment
  /** While the stream is live, changes are pushed, so the copy is current. */
  isLive(): boolean
}

/** The active version of each agent, as last fetched from the server. [PIN-2] */
export function agentRegistry({store, link, environment, isLive}: Parts): AgentRegistry {
  return {
    async read() {
      const copy = await store.agents()
      if (!copy) return null
      const active = Object.fromEntries(copy.agents.flatMap(({name, active}) => (active ? [[name, active]] : [])))
      return {active, ageMs: isLive() ? null : Math.max(0, environment.now() - copy.fetchedAt)}
    },
    async refresh() {
      if (link) await store.saveAgents(await link.agents(), environment.now())
    },
  }
}
