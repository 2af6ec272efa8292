import {resolve} from 'node:path'
import type {PGlite} from '@electric-sql/pglite'
import {checkNodeOptions} from './check-options.ts'
import {storedOwner} from './device/device-owner.ts'
import {openDeviceRuntime} from './device/device-runtime.ts'
import {localFeed} from './device/local-feed.ts'
import type {MemoryChoice} from './device/memory-parts.ts'
import {peopleFile} from './device/people-file.ts'
import {personFolders} from './device/person-folders.ts'
import type {RuntimeService} from './device/runtime-service.ts'
import {documentProjection} from './documents/document-projection.ts'
import {
  type Agent,
  type AgentHost,
  agentHost,
  type ModelSource,
  requireDistinct,
  type ToolImplementations,
} from './loop/define.ts'
import {requireTools} from './loop/require-tools.ts'
import type {Router} from './loop/route.ts'
import {type EditOutbox, flushEdits} from './page/edit-outbox.ts'
import type {Runtime} from './page/open-runtime.ts'
import {memoryPeople, type Place} from './page/people.ts'
import {type Opened, Persons} from './page/persons.ts'
import {runtimeOfPersons} from './page/runtime-of-persons.ts'
import {type TokenOption, tokenSource} from './page/token-source.ts'
import {systemEnvironment} from './platform/environment.ts'
import type {Environment} from './protocol/environment.ts'
import {HoldfastError} from './protocol/errors.ts'
import type {LogLine} from './protocol/log-line.ts'
import type {Person} from './protocol/person.ts'
import type {Recovery} from './protocol/recovery.ts'
import {orClose} from './storage/pglite/opened-database.ts'
import {openDeviceStore} from './storage/recovery/open-device-store.ts'
import {type CuttableLink, httpLink} from './sync/http-link.ts'
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
export {describeAgent} from './loop/describe-agent.ts'
export {type Candidate, defaultRouter, type Routed, type RouteRequest, type Router} from './loop/route.ts'
export type {ToolOutput} from './loop/storable-result.ts'

export * from './memory/public.ts'
export type {LogEvent, LoggedError, LogLevel, LogLine} from './protocol/log-line.ts'
export type * from './public-types.ts'
export {type DamagePolicy, type NodeDatabaseOptions, openNodeDatabase} from './storage/pglite/open-node.ts'
export type {OpenedDatabase} from './storage/pglite/opened-database.ts'
export {HoldfastError}

export type NodeRuntimeOptions<Served extends Agent = Agent> = {
  agent: Served
  model: ModelSource
  tools: ToolImplementations<Served['tools']>
  modelProfiles?: AgentHost['modelProfiles']
  /** Other agents, and other versions of this one. Runs pinned to any of them can continue on this device. */
  also?: readonly AgentHost[]
  /** Chooses agent and version of each new run. Default: the active version, else the newest. */
  router?: Router
  /** Path of a folder, or `memory://`. One process at a time can open a folder. */
  dataDir: string
  memory?: MemoryChoice
  /** The sync server or link. Default: no sync. */
  sync?: {url: string | URL; token: TokenOption} | {link: CuttableLink; token?: string}
  environment?: Environment
  /** Delay before the first retry of a failed model call, in milliseconds. */
  retryDelayMs?: number
  /** Receives one line per operational event. Lines contain no text written by users or models. */
  log?: (line: LogLine) => void
}

/**
 * A runtime in this process. `db` is the database of the signed-in person and may hold the application's own tables.
 * Read it again after a switch of person: it is then another object.
 */
export interface NodeRuntime extends Runtime {
  readonly db: PGlite
  /**
   * Returns what was restored and what was lost when the database of the signed-in person was found damaged. Returns
   * null when the database was intact, and after `dismissRecovery`. [LOG-9]
   *
   * @example const recovery = await runtime.recovery()
   * if (recovery) console.warn(recovery.cause, recovery.restored, recovery.lost)
   */
  recovery(): Promise<Recovery | null>
  /** Marks the recovery report as read. `recovery` then returns null. */
  dismissRecovery(): Promise<void>
}

type Open = {db: PGlite; service: Pick<RuntimeService, 'storage' | 'dismissRecovery'>}

/**
 * Opens a runtime in this Node process, with its database in a folder or in memory.
 *
 * @throws HoldfastError `misconfigured` with every invalid option and every tool that has no implementation, and
 * `database_locked` with the folder and the process that holds it
 * @example
 * const runtime = await openRuntime({agent: desk, model, tools: {}, dataDir: 'memory://'})
 */
export async function openRuntime<Served extends Agent>(options: NodeRuntimeOptions<Served>): Promise<NodeRuntime> {
  checkNodeOptions(options)
  const {agent, model, tools, modelProfiles, also = [], router, memory} = options
  const {dataDir, sync, environment = systemEnvironment, retryDelayMs, log} = options
  const hosts = [agentHost(agent, {model, tools, ...(modelProfiles && {modelProfiles})}), ...also]
  requireDistinct(hosts)
  requireTools(hosts, 'openRuntime')
  const tokens = sync && 'url' in sync ? tokensOf(sync.token, environment) : null
  const folders = personFolders(dataDir)
  const index = dataDir.startsWith('memory://') ? memoryPeople() : peopleFile(resolve(dataDir))
  const link = linkOf(sync, tokens)
  const open = async (place: Place, person: Person | null): Promise<Opened<Open>> => {
    const database = await folders.open(place)
    const feed = localFeed()
    const kept = await orClose(database, () => openDeviceStore(database, environment, [documentProjection], person))
    const device = await orClose(database, async () =>
      openDeviceRuntime({
        store: kept.store,
        storage: kept,
        hosts,
        router,
        environment,
        link,
        owner: await storedOwner(kept.store, person),
        setToken: (value, failed) => tokens?.set(value, failed),
        publisher: feed,
        ownMemory: {store: kept.memory, ...memory},
        log,
        ...(retryDelayMs !== undefined && {retryDelayMs}),
      }),
    )
    const edits = new Set<EditOutbox>()
    return {
      parts: {service: device.service, listen: feed.listen, onOwnerChange: () => () => undefined, environment, edits},
      extra: {db: database.db, service: device.service},
      async close() {
        await flushEdits(edits)
        await device.close()
        await database.close()
      },
    }
  }
  const persons: Persons<Open> = new Persons<Open>({
    index,
    open,
    remove: place => folders.remove(place),
    me: async () => {
      tokens?.renew()
      link?.setOnline(true)
      return link ? await link.me().catch(nullWhenNobody) : null
    },
    onOther: person => void persons.switchTo(person).catch(() => undefined),
  })
  await persons.start()
  return {
    ...runtimeOfPersons(persons),
    get db() {
      return openOf(persons).db
    },
    recovery: async () => (await openOf(persons).service.storage()).recovery,
    dismissRecovery: () => openOf(persons).service.dismissRecovery(),
    async close() {
      await persons.close()
      await folders.close()
    },
  }
}

function openOf({current}: Persons<Open>): Open {
  if (current) return current.extra
  throw new HoldfastError('unauthenticated', 'Nobody is signed in on this device.')
}

function nullWhenNobody(error: unknown): null {
  if (HoldfastError.is(error, 'unauthenticated', 'token_expired')) return null
  throw error
}

function tokensOf(token: TokenOption | undefined, environment: Environment): TokenKeeper | null {
  // A token is required: a Node process sends no cookies.
  const ask = tokenSource(token, {required: true})
  return ask && new TokenKeeper({...environment, ask})
}

function linkOf(sync: NodeRuntimeOptions['sync'], tokens: TokenKeeper | null): CuttableLink | null {
  if (!sync) return null
  return 'link' in sync ? sync.link : httpLink({url: sync.url, ...tokens?.forLink()})
}
