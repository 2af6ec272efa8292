import type {PGlite} from '@electric-sql/pglite'
import {fixedOwner} from '../device/device-owner.ts'
import {openDeviceRuntime} from '../device/device-runtime.ts'
import {localFeed} from '../device/local-feed.ts'
import type {RuntimeService} from '../device/runtime-service.ts'
import type {AgentHost} from '../loop/define.ts'
import type {Listen} from '../page/page-parts.ts'
import {createSessions} from '../page/page-runtime.ts'
import type {Environment} from '../protocol/environment.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import {openPGliteStore} from '../storage/pglite-store.ts'
import type {CuttableLink} from '../sync/http-link.ts'
import type {MortalProcess} from './crash-points.ts'
import {crashableLink} from './crashable-link.ts'
import {crashableStore} from './crashable-store.ts'

export type TestDeviceParts = {
  /** The database, which outlives the device: the next device on it continues where this one died. */
  db: PGlite
  /** The process of the device. It decides when the device dies. */
  process: MortalProcess
  hosts: readonly AgentHost[]
  environment: Environment
  /** Null for a device that never syncs. */
  link: CuttableLink | null
  /** The person that uses the device. */
  subject: string
}

/** A complete device in this process: storage, loop, documents and sync, as in a browser's worker. */
export interface TestDevice {
  readonly process: MortalProcess
  readonly store: DeviceStore
  readonly link: CuttableLink | null
  readonly service: RuntimeService
  readonly listen: Listen
  /** The calls that a page makes. Pass ids to repeat a call after a crash. */
  page(environment: Environment): ReturnType<typeof createSessions>
  close(): Promise<void>
}

/**
 * Opens a device that can be killed.
 *
 * @example
 * const process = new CrashPoints().process('laptop')
 * const device = await openTestDevice({db, process, hosts: [{agent, model, tools}], environment, link, subject: 'maya'})
 */
export async function openTestDevice(parts: TestDeviceParts): Promise<TestDevice> {
  const {db, process, hosts, environment, subject} = parts
  const feed = localFeed()
  const store = crashableStore(await openPGliteStore(db, environment), process)
  const link = parts.link && crashableLink(parts.link, process)
  const runtime = await openDeviceRuntime({
    store,
    hosts,
    environment,
    link,
    owner: fixedOwner(subject),
    setToken: () => undefined,
    publisher: feed,
    retryDelayMs: 1,
  })
  const {service} = runtime
  return {
    process,
    store,
    link,
    service,
    listen: feed.listen,
    page: page =>
      createSessions({service, listen: feed.listen, onOwnerChange: () => () => undefined, environment: page}),
    close: () => runtime.close(),
  }
}
