import type {RegistryReading} from '../loop/route.ts'
import type {Environment} from '../protocol/environment.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {ServerLink} from '../sync/server-link.ts'

export interface AgentRegistry {
  /** This device's copy; null when it never had one. Never waits for the network: a run must start offline too. */
  read(): Promise<RegistryReading | null>
  /** Brings the copy up to date: on every connect, and when the server says that something was published or moved. */
  refresh(): Promise<void>
}

type Parts = {
  store: DeviceStore
  link: Pick<ServerLink, 'agents'> | null
  environment: Environment
  /** While live, a change would have been told, so the copy is current. */
  isLive(): boolean
}

/** Which version of each agent new runs take, as the server last said. [PIN-2] */
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
