import {readFile} from 'node:fs/promises'
import {fileURLToPath} from 'node:url'
import dataDirUrl from 'virtual:holdfast-data-dir'
import {documentProjection} from '../../runtime/documents/document-projection.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Actor, Draft, Event} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {DeviceDatabase} from '../../runtime/storage/pglite/device-database.ts'
import {openOpfs} from '../../runtime/storage/pglite/open-opfs.ts'
import {asTarball} from '../../runtime/storage/prepared/as-tarball.ts'
import {type DeviceStorage, openDeviceStore} from '../../runtime/storage/recovery/open-device-store.ts'
import {SessionLog} from '../../runtime/storage/session-log.ts'
import {confirmed, scribe} from './events.ts'
import {MemoryOpfs} from './memory-opfs.ts'

export const maya = {type: 'person', subject: 'maya'} as Actor
export const opened: Draft = {kind: 'session.opened', data: {agent: 'desk', policy: 'steer'}}
export const message = (text: string): Draft => ({kind: 'message.posted', data: {text}})

const prepared = async () => asTarball(new Uint8Array(await readFile(fileURLToPath(dataDirUrl))))

export type StoredDevice = DeviceStorage & {
  database: DeviceDatabase
  stopped: HoldfastError[]
  log(session: SessionId): Promise<SessionLog>
  /** Everything that is said in a session, in order. */
  texts(session: SessionId): Promise<string[]>
  close(): Promise<void>
}

/**
 * The storage of a device as a browser has it, over files in memory. Opened again as a browser opens it. With `tookOver`,
 * whoever had it open is frozen and holds its files.
 */
export async function openStoredDevice(opfs: MemoryOpfs, {tookOver = false} = {}): Promise<StoredDevice> {
  for (let attempt = 1; ; attempt++) {
    if (!tookOver) opfs.releaseAll()
    const stopped: HoldfastError[] = []
    try {
      const database = await openOpfs(
        async () => opfs.root,
        'desk',
        prepared,
        error => stopped.push(error),
        {epoch: crypto.randomUUID(), tookOver},
      )
      return await deviceOn(database, stopped)
    } catch (error) {
      // A worker that meets damage while it opens notes it and is replaced.
      if (attempt === 4) throw error
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
}

export async function deviceOn(database: DeviceDatabase, stopped: HoldfastError[]): Promise<StoredDevice> {
  const storage = await openDeviceStore(database, env, [documentProjection])
  const {store} = storage
  const {id: device} = await store.device()
  const log = (session: SessionId) =>
    SessionLog.open({store, device, environment: env, projections: [documentProjection]}, session)
  return {
    ...storage,
    database,
    stopped,
    log,
    texts: async session =>
      (await (await log(session)).read(10_000)).flatMap(({event}) =>
        event.kind === 'message.posted' && !('unreadable' in event) ? [event.data.text] : [],
      ),
    close: () => database.close(),
  }
}

/** Events of another device, as the server hands them out. */
export function fromServer(texts: readonly string[]): {session: SessionId; page: Event[]} {
  const desk = scribe()
  const events = [desk.event('session.opened'), ...texts.map(text => desk.event('message.posted', {data: {text}}))]
  return {session: desk.names.session, page: confirmed(events) as Event[]}
}

export type LeftSessions = {
  /** Of another device: all of it is confirmed. */
  shared: {session: SessionId; page: Event[]; texts: string[]}
  /** Of this device: the server has nothing of it. */
  own: {session: SessionId; texts: string[]}
}

export type LeftDevice = LeftSessions & {opfs: MemoryOpfs; device: string}

/** The files of a device that was killed, with what `writeSessions` writes. */
export async function leaveDevice(): Promise<LeftDevice> {
  const opfs = new MemoryOpfs()
  const first = await openStoredDevice(opfs)
  const sessions = await writeSessions(first)
  const {id: device} = await first.store.device()
  const left = opfs.copy()
  await first.close()
  return {opfs: left, device, ...sessions}
}

/** Confirmed messages and a pending one in checkpointed pages, and one more of each in the write-ahead log only. */
export async function writeSessions(first: StoredDevice): Promise<LeftSessions> {
  const server = Array.from({length: 41}, (_, i) => `confirmed ${i} ${'x'.repeat(300)}`)
  const {session, page} = fromServer(server)
  const shared = await first.log(session)
  await shared.receive(page.slice(0, -1))
  const own = env.id('session')
  const log = await first.log(own)
  await log.append(maya, [opened, message('in a page')])
  await first.database.db.query('checkpoint')
  await log.append(maya, [message('in the log only')])
  await shared.receive(page.slice(-1))
  return {
    shared: {session, page, texts: server},
    own: {session: own, texts: ['in a page', 'in the log only']},
  }
}
