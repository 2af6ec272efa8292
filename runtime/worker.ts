import {openDeviceRuntime} from './device/device-runtime.ts'
import type {MemoryChoice} from './device/memory-parts.ts'
import {type RuntimeService, retriedMethods} from './device/runtime-service.ts'
import {TokenHolder} from './device/token-holder.ts'
import {type Agent, type AgentHost, agentHost} from './loop/define.ts'
import type {Router} from './loop/route.ts'
import type {WorkerConfig} from './page/open-runtime.ts'
import {systemEnvironment} from './platform/environment.ts'
import {hostWorker} from './platform/host-worker.ts'
import type {LogLine} from './protocol/log-line.ts'
import {openBrowserDatabase} from './storage/pglite/open-browser.ts'
import {orClose} from './storage/pglite/opened-database.ts'
import {pgliteMemory} from './storage/pglite-memory.ts'
import {openPGliteStore} from './storage/pglite-store.ts'
import {httpLink} from './sync/http-link.ts'

export {
  type Agent,
  type AgentHost,
  agentHost,
  defineAgent,
  defineTool,
  gatewayModel,
  type LocalToolContext,
  type ModelGateway,
  type ModelSource,
  type ToolContext,
} from './loop/define.ts'
export {type Candidate, defaultRouter, type Routed, type RouteRequest, type Router} from './loop/route.ts'
export type {ToolOutput} from './loop/storable-result.ts'

export type ServeOptions = {
  /** Other agents, and other versions of this one: a run pinned to any of them goes on here. */
  also?: readonly AgentHost[]
  /** Chooses agent and version of each run that starts; the active version, else the newest, unless given. */
  router?: Router
  /** What is proposed for memory after each run, and how it is recalled; nothing is proposed unless told. */
  memory?: MemoryChoice
  /** Gets a line for everything that an operator may have to know, with nothing in it that anybody wrote. */
  log?: (line: LogLine) => void
}

export * from './memory/public.ts'
export type {LogEvent, LoggedError, LogLevel, LogLine} from './protocol/log-line.ts'

/**
 * Makes this dedicated worker run an agent: of all tabs' workers one owns the database and the loop, the others stand
 * by. Call it while the worker's module is first evaluated.
 *
 * @example
 * serveAgent(desk, {model: gatewayModel(), tools: {lookupOrder: ({orderId}, {facts}) => facts.read(`order/${orderId}`)}})
 */
export function serveAgent<Served extends Agent>(
  agent: Served,
  implementation: Omit<AgentHost<Served['tools']>, 'agent'> & ServeOptions,
): void {
  const {also = [], router, memory, log, ...own} = implementation
  const hosts = [agentHost(agent, own), ...also]
  hostWorker<RuntimeService, WorkerConfig>({
    retry: retriedMethods,
    async open(config, {name, feed, crash}) {
      const database = await openBrowserDatabase({name, onStopped: crash})
      const token = new TokenHolder(config.token)
      const link =
        config.url === null
          ? null
          : httpLink({url: config.url, token: () => token.get(), onTokenRefused: () => feed.publish('token', null)})
      const device = await orClose(database, async () =>
        openDeviceRuntime({
          store: await openPGliteStore(database.db, systemEnvironment),
          hosts,
          router,
          environment: systemEnvironment,
          link,
          subject: () => token.subject(),
          tenant: () => token.tenant(),
          setToken: value => token.set(value),
          publisher: feed,
          ownMemory: {store: pgliteMemory(database.db), ...memory},
          log,
        }),
      )
      const {storage: kind, recovery} = database
      return {
        service: device.service,
        storage: {kind, persisted: null, recovery},
        async close() {
          await device.close()
          await database.close()
        },
      }
    },
  })
}
