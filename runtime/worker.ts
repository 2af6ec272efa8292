import {checkServeOptions} from './check-options.ts'
import {storedOwner} from './device/device-owner.ts'
import {openDeviceRuntime} from './device/device-runtime.ts'
import type {MemoryChoice} from './device/memory-parts.ts'
import {type RuntimeService, retriedMethods} from './device/runtime-service.ts'
import {documentProjection} from './documents/document-projection.ts'
import {type Agent, type AgentHost, agentHost, requireDistinct} from './loop/define.ts'
import {requireTools} from './loop/require-tools.ts'
import type {Router} from './loop/route.ts'
import type {WorkerConfig} from './page/open-runtime.ts'
import {liveKey, shareLive} from './page/shared-live.ts'
import {systemEnvironment} from './platform/environment.ts'
import {hostWorker} from './platform/host-worker.ts'
import type {LogLine} from './protocol/log-line.ts'
import {openBrowserDatabase} from './storage/pglite/open-browser.ts'
import {orClose} from './storage/pglite/opened-database.ts'
import {openDeviceStore} from './storage/recovery/open-device-store.ts'
import {httpLink} from './sync/http-link.ts'
import {TokenKeeper} from './sync/token-keeper.ts'

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
  /** Other agents, and other versions of this one. Runs pinned to any of them can continue on this device. */
  also?: readonly AgentHost[]
  /** Chooses agent and version of each new run. Default: the active version, else the newest. */
  router?: Router
  /** How memory is extracted after each run and how it is recalled. Default: no extraction. */
  memory?: MemoryChoice
  /** Receives one line per operational event. Lines contain no text written by users or models. */
  log?: (line: LogLine) => void
}

export * from './memory/public.ts'
export type {LogEvent, LoggedError, LogLevel, LogLine} from './protocol/log-line.ts'
export type * from './public-types.ts'

/**
 * Runs an agent in this dedicated worker. The workers of all tabs elect one leader, which owns the database and the run
 * loop; the others are followers. Call it synchronously while the worker's module is evaluated.
 *
 * @throws HoldfastError `misconfigured` with every invalid option and every tool that has no implementation
 * @example
 * serveAgent(desk, {model: gatewayModel(), tools: {lookupOrder: ({orderId}, {facts}) => facts.read(`order/${orderId}`)}})
 */
export function serveAgent<Served extends Agent>(
  agent: Served,
  implementation: Omit<AgentHost<Served['tools']>, 'agent'> & ServeOptions,
): void {
  checkServeOptions(agent, implementation)
  const {also = [], router, memory, log, ...own} = implementation
  const hosts = [agentHost(agent, own), ...also]
  requireDistinct(hosts)
  requireTools(hosts, 'serveAgent')
  hostWorker<RuntimeService, WorkerConfig>({
    retry: retriedMethods,
    async open(config, {name, feed, crash, epoch, tookOver, lastOwner}) {
      const database = await openBrowserDatabase({name, onStopped: crash, term: {epoch, tookOver}, lastOwner})
      const tokens = new TokenKeeper({
        ...systemEnvironment,
        // Never resolves: a page supplies the token through `setToken`.
        ask: () => {
          feed.publish('token', null)
          return new Promise(() => undefined)
        },
      })
      const kept = await orClose(database, () =>
        openDeviceStore(database, systemEnvironment, [documentProjection], config.person),
      )
      const owner = await orClose(database, () => storedOwner(kept.store, config.person))
      const whose = async () => {
        const {tenant, subject} = owner.get() ?? {}
        return tenant && subject && config.url ? liveKey(config.url, {tenant, subject}) : null
      }
      const source = config.cookies ? {} : tokens.forLink()
      const link = config.url === null ? null : shareLive(httpLink({url: config.url, ...source}), whose)
      const device = await orClose(database, async () =>
        openDeviceRuntime({
          store: kept.store,
          storage: kept,
          hosts,
          router,
          environment: systemEnvironment,
          link,
          owner,
          setToken: (value, failed) => tokens.set(value, failed),
          publisher: feed,
          ownMemory: {store: kept.memory, ...memory},
          log,
        }),
      )
      return {
        service: device.service,
        storage: {kind: kept.kind, persisted: null, recovery: kept.recovery},
        async close() {
          await device.close()
          await database.close()
        },
      }
    },
  })
}
