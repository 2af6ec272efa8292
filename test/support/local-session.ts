import type {PGlite} from '@electric-sql/pglite'
import {fixedOwner} from '../../runtime/device/device-owner.ts'
import {openDeviceRuntime} from '../../runtime/device/device-runtime.ts'
import {localFeed} from '../../runtime/device/local-feed.ts'
import {type Agent, type AgentHost, defineAgent, type ModelSource} from '../../runtime/loop/define.ts'
import {createSessions} from '../../runtime/page/page-runtime.ts'
import {systemEnvironment as environment} from '../../runtime/platform/environment.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'

export type LocalDevice = {db: PGlite; store: DeviceStore; close(): Promise<void>}

/** A database for sessions without a server. */
export async function openLocalDevice(): Promise<LocalDevice> {
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  return {db, store: await openPGliteStore(db, environment), close}
}

/** One session of an agent on that database, run by a loop of its own. */
export async function localSession(
  {store}: LocalDevice,
  model: ModelSource,
  {
    agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools: []}),
    tools = {},
  }: {
    agent?: Agent
    tools?: Record<string, unknown>
  } = {},
) {
  const feed = localFeed()
  let own: string | null = null
  const runtime = await openDeviceRuntime({
    store: {...store, sessions: async () => (await store.sessions()).filter(({id}) => id === own)},
    hosts: [{agent, model, tools} as unknown as AgentHost],
    environment,
    link: null,
    owner: fixedOwner('maya'),
    setToken: () => undefined,
    publisher: feed,
    retryDelayMs: 1,
  })
  const sessions = createSessions({
    service: runtime.service,
    listen: feed.listen,
    onOwnerChange: () => () => undefined,
    environment,
  })
  const session = await sessions.openSession({agent: agent.name})
  own = session.id
  return {
    session,
    async events(): Promise<Event[]> {
      const stored = await store.read(session.id, 10_000)
      return stored.flatMap(({event}) => ('unreadable' in event ? [] : [event]))
    },
    close: () => runtime.close(),
  }
}
