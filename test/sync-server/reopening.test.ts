import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {LogLine} from '../../runtime/protocol/log-line.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import type {OpenedDatabase} from '../../runtime/storage/pglite/opened-database.ts'
import {createSyncServer, openPgStore, pgliteSql, reopeningSql, type Sql} from '../../sync-server/index.ts'
import {call, headersOf, trustingAuth} from './support/caller.ts'
import {testDevice} from './support/device.ts'

let folder: string
let current: OpenedDatabase | null = null
let room = true
const closing: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-reopening-'))
  room = true
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await rm(folder, {recursive: true, force: true})
})

async function open(again: boolean): Promise<{sql: Sql; close(): Promise<void>}> {
  if (!room) throw new Error('no room yet')
  const opened = await openNodeDatabase({dataDir: folder, mustExist: again})
  current = opened
  return {sql: pgliteSql(opened.db), close: opened.close}
}

/** What a write-ahead log without room does to Postgres: it panics. */
function panic(): void {
  room = false
  const machine = current!.db.Module
  const {_PostgresMainLoopOnce: run} = machine
  const filesystem = Reflect.get(machine.FS, 'filesystems').NODEFS.stream_ops
  filesystem.write = () => {
    throw new Error('no space left on device')
  }
  expect(run).toBeTypeOf('function')
}

function codeOf(error: unknown): string | null {
  return HoldfastError.is(error) ? error.code : null
}

async function serverOver(options: Parameters<typeof reopeningSql>[1] = {}) {
  const {sql, close} = await reopeningSql(open, {pauseMs: 10, longestPauseMs: 50, ...options})
  closing.push(close)
  const facts = {read: async () => null}
  const server = createSyncServer({store: await openPgStore(sql), authenticate: trustingAuth, facts, operations: {}})
  closing.push(() => server.close())
  return server
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 20))
}

describe('a PGlite that stopped by itself', () => {
  test('[CUS-5] is answered for with 503 and opened again by itself, with all that was acknowledged', async () => {
    const lines: LogLine[] = []
    const server = await serverOver({log: line => lines.push(line)})
    const device = testDevice({tenant: 'acme', subject: 'ana'})
    const opened = device.open()
    await device.push(server, [opened])
    panic()
    const refused = device.post('Refused, or kept: it is sent again.')
    const path = `/v1/sessions/${device.session}/events`
    for (let i = 0; i < 3; i++) {
      expect(await call(server, device.who, path, {events: [refused]})).toMatchObject({
        status: 503,
        body: {error: {code: 'unavailable'}},
      })
    }
    expect((await server.app.request('/readyz')).status).toBe(503)
    room = true
    await until(async () => (await call(server, device.who, path, {events: [refused]})).status === 200)
    const page = await server.app.request(path, {headers: headersOf(device.who)})
    expect(((await page.json()) as {events: {id: string}[]}).events.map(({id}) => id)).toEqual([opened.id, refused.id])
    expect(lines.map(({event}) => event)).toEqual(['database.stopped', 'database.reopened'])
  })

  test('is left to the supervisor of a host that says so', async () => {
    const told: unknown[] = []
    const server = await serverOver({onStopped: error => told.push(error)})
    const device = testDevice({tenant: 'acme', subject: 'ana'})
    await device.push(server, [device.open()])
    panic()
    const path = `/v1/sessions/${device.session}/events`
    for (let i = 0; i < 2; i++) {
      expect((await call(server, device.who, path, {events: [device.post('x')]})).status).toBe(503)
    }
    room = true
    expect(told).toMatchObject([{code: 'peer_gone'}])
    expect((await call(server, device.who, path, {events: [device.post('y')]})).status).toBe(503)
  })

  test.for(['', 'postgres'])(
    '[LOG-9] whose folder was deleted answers 503 with the cause in the log, and no empty one takes its place: %s',
    async part => {
      const lines: LogLine[] = []
      const server = await serverOver({log: line => lines.push(line)})
      const device = testDevice({tenant: 'acme', subject: 'ana'})
      await device.push(server, [device.open()])
      await rm(join(folder, part), {recursive: true})
      const path = `/v1/sessions/${device.session}/events`
      await until(async () => (await call(server, device.who, path, {events: [device.post('x')]})).status === 503)
      await until(async () => lines.some(({error}) => error?.code === 'database_damaged'))
      expect((await server.app.request('/readyz')).status).toBe(503)
      expect((await call(server, device.who, path, {events: [device.post('y')]})).status).toBe(503)
      // The server tries to open it again and again, and holds the folder's lock meanwhile.
      const refusal = () => openNodeDatabase({dataDir: folder, mustExist: true}).then(() => null, codeOf)
      await until(async () => (await refusal()) === 'database_damaged')
      expect(lines.map(({event}) => event)).not.toContain('database.reopened')
    },
  )
})
