import type {PGlite} from '@electric-sql/pglite'
import {afterAll, beforeAll} from 'vitest'
import type {ModelSource} from '../../runtime/loop/define.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {InboxItem} from '../../runtime/protocol/approval.ts'
import {type Kind, type LoggedEvent, readEvent} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {type Device, openDevice} from './crashable-device.ts'
import {openTestServer, type TestServer, type TestServerOptions} from './desk.ts'

type Parts = Omit<Parameters<typeof openDevice>[0], 'db' | 'shop' | 'subject' | 'model' | 'only'> & {db?: PGlite}

/** One person with one session on a device; `open` opens the same device again, or another of the same person. */
export type Scene = {
  subject: string
  id: SessionId
  device: Device
  session: Session
  open(model: ModelSource, parts?: Parts): Promise<Device>
}

/** A server and a device database for a whole file; scenes keep apart by their person and session. */
export function deskScenes(options: TestServerOptions = {}) {
  const opened: {shop?: TestServer; databases: Awaited<ReturnType<typeof openNodeDatabase>>[]} = {databases: []}
  let scenes = 0
  const database = async () => {
    const one = await openNodeDatabase({dataDir: 'memory://'})
    opened.databases.push(one)
    return one.db
  }
  beforeAll(async () => {
    opened.shop = await openTestServer(options)
    await database()
  })
  afterAll(async () => {
    await opened.shop?.close()
    for (const one of opened.databases) await one.close()
  })
  const shop = () => {
    if (!opened.shop) throw new Error('the server is not open yet')
    return opened.shop
  }
  const own = () => opened.databases[0]!.db

  return {
    get shop() {
      return shop()
    },
    get db() {
      return own()
    },
    /** Another device's database. */
    database,
    async play(model: ModelSource, parts: Parts = {}): Promise<Scene> {
      scenes += 1
      const [subject, id] = [`maya-${scenes}`, env.id('session')]
      const open: Scene['open'] = (next, {db = own(), ...more} = {}) =>
        openDevice({db, shop: shop(), subject, model: next, only: id, ...more})
      const device = await open(model, parts)
      await device.service.openSession(id, {event: env.id('event'), agent: 'desk'})
      return {subject, id, device, session: await device.session(id), open}
    },
    /** The confirmed log as the server has it. */
    async log({subject, id}: Pick<Scene, 'subject' | 'id'>): Promise<LoggedEvent[]> {
      return (await (await shop().link(subject)).pull(id, 0)).events.map(readEvent)
    },
    /** What waits for an approver in this session. */
    async inbox({id}: Pick<Scene, 'id'>): Promise<InboxItem[]> {
      return (await (await shop().link('theo', {roles: ['approver']})).inbox('open')).filter(
        item => item.session === id,
      )
    },
    async decide(item: InboxItem, verdict: 'approve' | 'reject', digest = item.digest): Promise<InboxItem> {
      return await (await shop().link('theo', {roles: ['approver']})).decide(item.approval, {verdict, digest})
    },
  }
}
export type DeskScenes = ReturnType<typeof deskScenes>

export function kindsOf(events: readonly LoggedEvent[]): Kind[] {
  return events.map(event => event.kind as Kind)
}

export function ofKind<K extends Kind>(events: readonly LoggedEvent[], kind: K) {
  return events.filter((event): event is Extract<LoggedEvent, {kind: K}> & {unreadable?: never} => event.kind === kind)
}
