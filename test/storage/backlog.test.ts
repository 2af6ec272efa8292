import {afterAll, beforeAll, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Actor, Draft} from '../../runtime/protocol/event.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import type {OpenedDatabase} from '../../runtime/storage/pglite/opened-database.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {SessionLog} from '../../runtime/storage/session-log.ts'
import {confirmed} from '../support/events.ts'

let database: OpenedDatabase
let store: DeviceStore
beforeAll(async () => {
  database = await openNodeDatabase({dataDir: 'memory://'})
  store = await openPGliteStore(database.db, env)
})
afterAll(() => database.close())

const maya = {type: 'person', subject: 'maya'} as Actor
const opened: Draft = {kind: 'session.opened', data: {agent: 'desk', policy: 'steer'}}
const said: Draft = {kind: 'message.posted', data: {text: 'Hello?'}}
const [device, session] = [env.id('device'), env.id('session')]
const open = (id = session) => SessionLog.open({store, device, environment: env, projections: [], backlogLimit: 3}, id)

test('[SYNC-6] a full backlog slows its writer, then says so by name and keeps nothing; what the server takes makes room', async () => {
  const log = await open()
  await log.append(maya, [opened, said])
  await log.append(maya, [said])
  const full = await log.append(maya, [said]).catch(error => error)
  expect(full).toMatchObject({code: 'backlog_full', details: {pending: 3, limit: 3}})
  const pending = await store.pending(session, 10)
  expect(pending).toHaveLength(3)
  const reopened = await open()
  const waiting = reopened.append(maya, [said])
  await reopened.receive(confirmed(pending))
  await waiting
  expect(await store.pending(session, 10)).toHaveLength(1)
})

test('[LOG-2] a database that was set back goes on after what the log has of its device, and is not refused as late', async () => {
  const id = env.id('session')
  const log = await open(id)
  await log.append(maya, [opened, said])
  const events = confirmed(await store.pending(id, 10))
  await database.db.query('delete from holdfast_events where session = $1', [id])
  await database.db.query('delete from holdfast_sessions where id = $1', [id])
  const again = await open(id)
  await again.receive(events)
  await again.append(maya, [said])
  expect((await store.pending(id, 10)).map(({deviceSeq}) => deviceSeq)).toEqual([3])
})
