import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {serverEnvironment} from '../../sync-server/environment.ts'
import {
  createSyncServer,
  openPgStore,
  pgliteSql,
  type Sql,
  type SyncServer,
  type SyncServerOptions,
} from '../../sync-server/index.ts'
import type {SqlQuery} from '../../sync-server/storage/sql.ts'
import {bytesWith, refOf} from '../support/blobs.ts'
import {realPostgres} from '../support/real-postgres.ts'
import {filesWith} from '../support/scan-files.ts'
import {putBlob} from '../sync-server/support/blob-calls.ts'
import {call, trustingAuth, type Who} from '../sync-server/support/caller.ts'
import {testDevice} from '../sync-server/support/device.ts'
import {movableClock} from '../sync-server/support/environment.ts'
import {refundDesk} from '../sync-server/support/refund-desk.ts'

const who: Who = {tenant: 'acme', subject: 'ana'}
const words = 'the-words-that-nobody-may-find-again'

async function serverOn(sql: Sql, options: Partial<SyncServerOptions> = {}): Promise<SyncServer> {
  const desk = refundDesk(sql)
  await desk.prepare()
  return createSyncServer({
    store: await openPgStore(sql),
    authenticate: trustingAuth,
    facts: desk.facts,
    operations: desk.operation(),
    ...options,
  })
}

/** Words in every table, in values short enough for statistics and long enough to be stored out of line. */
async function fill(server: SyncServer) {
  const device = testDevice(who)
  const said = device.post(words)
  const refund = device.refund({orderId: words, cents: 6000}, {answers: [said.id]})
  await device.push(server, [
    device.event('session.opened', {agent: 'desk', policy: 'steer', title: words}),
    said,
    device.event('document.updated', {document: 'draft', update: Buffer.from(words).toString('base64')}),
    ...refund.events,
  ])
  await server.idle()
  for (let i = 0; i < 6; i++) {
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(6000))).toString('hex')
    await device.push(server, [device.post(`${words} ${random}`)])
  }
  const bytes = bytesWith(words, 6000)
  await putBlob(server, who, device.session, refOf(bytes).$blob, bytes)
  return device
}

async function eraseAndSweep(server: SyncServer, session: string): Promise<ErasureReceipt> {
  const {body} = await call<ErasureReceipt>(server, who, '/v1/erasures', {session})
  await server.sweep()
  return receiptOf(server, body)
}

async function receiptOf(server: SyncServer, {erasure}: ErasureReceipt): Promise<ErasureReceipt> {
  return (await call<ErasureReceipt>(server, who, `/v1/erasures/${erasure}`)).body
}

/** The same database, which remembers the statements that lock a whole table or write all of it. */
function watched(sql: Sql) {
  const rewrites: string[] = []
  const watch = ({query}: SqlQuery): SqlQuery => ({
    query: (text, params) => {
      if (/^\s*(VACUUM|CLUSTER|TRUNCATE|LOCK|REINDEX|ALTER|CHECKPOINT)/i.test(text)) rewrites.push(text)
      return query(text, params)
    },
  })
  const all: Sql = {...watch(sql), transaction: work => sql.transaction(tx => work(watch(tx)))}
  return {sql: all, rewrites}
}

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>(settle => {
    resolve = settle
  })
  return {promise, resolve}
}

/** One user erases 50 sessions while another tenant writes; the server sweeps as often as it likes. */
async function burst(server: SyncServer): Promise<ErasureReceipt[]> {
  const other = testDevice({tenant: 'other', subject: 'bo'})
  await other.push(server, [other.open()])
  const receipts: ErasureReceipt[] = []
  for (let i = 0; i < 50; i++) {
    const device = testDevice(who)
    await device.push(server, [device.open(), device.post(`${words} ${i}`)])
    const [{body}, pushed] = await Promise.all([
      call<ErasureReceipt>(server, who, '/v1/erasures', {session: device.session}),
      other.push(server, [other.post(`meanwhile ${i}`)]),
      server.sweep(),
    ])
    expect(pushed.verdicts).toMatchObject([{status: 'accepted'}])
    receipts.push(body)
  }
  return receipts
}

describe('the files of PGlite', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdfast-files-'))
  })
  afterAll(() => rm(folder, {recursive: true, force: true}))

  test('[RET-3] hold no byte of an erased session, write-ahead log included', async () => {
    const dataDir = join(folder, 'server')
    const {db, close} = await openNodeDatabase({dataDir})
    const server = await serverOn(pgliteSql(db))
    const device = await fill(server)
    await db.query('ANALYZE')
    expect((await filesWith(dataDir, words)).some(file => file.includes('pg_wal'))).toBe(true)
    expect(await eraseAndSweep(server, device.session)).toMatchObject({outstanding: {files: false}})
    expect(await filesWith(dataDir, words)).toEqual([])
    await close()
    expect(await filesWith(dataDir, words)).toEqual([])
  })

  test('[RET-3] are clean after each further rewrite, which takes only the tables that were written to', async () => {
    const dataDir = join(folder, 'again')
    const {db, close} = await openNodeDatabase({dataDir})
    const {sql, rewrites} = watched(pgliteSql(db))
    const server = await serverOn(sql, {erasure: {rewriteEveryMs: 0}})
    await eraseAndSweep(server, (await fill(server)).session)
    const first = rewrites.splice(0).length
    for (let round = 0; round < 2; round++) {
      const {session} = await fill(server)
      expect(await eraseAndSweep(server, session)).toMatchObject({outstanding: {files: false}})
      expect(await filesWith(dataDir, words)).toEqual([])
      expect(rewrites).toContain('VACUUM (FULL) hf_events')
      expect(rewrites).not.toContain('VACUUM (FULL) hf_delegations')
      expect(rewrites.splice(0).length).toBeLessThan(first)
    }
    await close()
  })

  test('[RET-2] are rewritten once for a burst of erasures, and outstanding until the next rewrite', async () => {
    const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
    const {sql, rewrites} = watched(pgliteSql(db))
    const clock = movableClock()
    const server = await serverOn(sql, {environment: clock})
    rewrites.length = 0
    const receipts = await burst(server)
    const vacuums = rewrites.filter(text => text.startsWith('VACUUM'))
    expect(vacuums.length).toBe(new Set(vacuums).size)
    expect(await receiptOf(server, receipts.at(-1)!)).toMatchObject({
      status: 'waiting',
      outstanding: {files: true, filesWait: {reason: expect.stringContaining('idle'), until: null}},
    })
    clock.advance(300_000)
    await server.sweep()
    for (const receipt of receipts) expect((await receiptOf(server, receipt)).outstanding.files).toBe(false)
    await close()
  })

  test('[RET-2] are not rewritten while the database is in use', async () => {
    const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
    const {sql, rewrites} = watched(pgliteSql(db))
    const store = await openPgStore(sql)
    rewrites.length = 0
    const session = serverEnvironment.id('session')
    const {promise: finished, resolve: finish} = deferred()
    const key = {tenant: 'acme' as never, session, create: 'ana' as never}
    const inUse = store.sessions.locked(key, () => finished)
    const waiting = store.health.migrated()
    expect(await store.files.run()).toBe(false)
    expect(rewrites).toEqual([])
    finish()
    await Promise.all([inUse, waiting])
    expect(await store.files.run()).toBe(true)
    await close()
  })

  test('[RET-3] are rewritten after an hour even though the database is never idle', async () => {
    const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
    const base = pgliteSql(db)
    const {promise: finished, resolve: finish} = deferred()
    let held = false
    const afterHold = <T>(work: () => Promise<T>): Promise<T> => (held ? finished.then(work) : work())
    const sql: Sql = {
      query: (text, params) => afterHold(() => base.query(text, params)),
      transaction: work => afterHold(() => base.transaction(work)),
    }
    const clock = movableClock()
    const store = await openPgStore(sql)
    const server = await serverOn(sql, {environment: clock, store})
    const {session} = await fill(server)
    held = true
    const endless = store.delegations.holders('acme' as never, 'lead', 0)
    held = false
    const receipt = (await call<ErasureReceipt>(server, who, '/v1/erasures', {session})).body
    const waits = async () => {
      await server.sweep()
      return (await receiptOf(server, receipt)).outstanding.files
    }
    expect(await waits()).toBe(true)
    clock.advance(3_500_000)
    expect(await waits()).toBe(true)
    clock.advance(100_000)
    expect(await waits()).toBe(false)
    finish()
    await endless
    await close()
  })
})

describe('the files of Postgres', () => {
  const postgres = realPostgres()

  test('[RET-2] are outstanding while the write-ahead log holds erased words, until the operator confirms', async () => {
    const {sql, dataDir} = postgres()
    const server = await serverOn(sql)
    const device = await fill(server)
    await sql.query('CHECKPOINT')
    const receipt = await eraseAndSweep(server, device.session)
    const found = await filesWith(dataDir, words)
    expect(found.some(file => file.includes('pg_wal')) && found.some(file => file.includes('base'))).toBe(true)
    expect(receipt).toMatchObject({
      status: 'waiting',
      outstanding: {files: true, filesWait: {reason: expect.stringContaining('write-ahead log'), until: null}},
    })

    const startedAt = Date.now() + 1
    await sql.query('ALTER SYSTEM SET wal_recycle = off')
    await sql.query('SELECT pg_reload_conf()')
    await sql.query('VACUUM (FULL)')
    await expect
      .poll(async () => {
        for (const step of ['CHECKPOINT', 'SELECT pg_switch_wal()', 'CHECKPOINT']) await sql.query(step)
        return filesWith(dataDir, words)
      })
      .toEqual([])
    expect((await receiptOf(server, receipt)).outstanding.files).toBe(true)
    expect(await server.filesRewritten(startedAt)).toBe(1)
    const {outstanding} = await receiptOf(server, receipt)
    expect(outstanding).not.toHaveProperty('filesWait')
    expect(outstanding.files).toBe(false)
  })

  test('[RET-2] are outstanding until the time that the operator stated has passed', async () => {
    const clock = movableClock()
    const filesGoneAfterMs = 7 * 86_400_000
    const server = await serverOn(postgres().sql, {environment: clock, erasure: {filesGoneAfterMs}})
    const device = await fill(server)
    const erasedFrom = clock.now()
    const receipt = await eraseAndSweep(server, device.session)
    expect(receipt.outstanding.files).toBe(true)
    const until = receipt.outstanding.filesWait?.until ?? 0
    expect(until).toBeGreaterThanOrEqual(erasedFrom + filesGoneAfterMs)
    clock.advance(until - clock.now() - 1000)
    await server.sweep()
    expect((await receiptOf(server, receipt)).outstanding.files).toBe(true)
    clock.advance(1000)
    await server.sweep()
    expect((await receiptOf(server, receipt)).outstanding.files).toBe(false)
  })

  test.each([undefined, null, '', 'now', true, [], Number.NaN, -1, Infinity, 1e308])(
    '[RET-2] %s is no confirmation, and completes no receipt',
    async startedAt => {
      const server = await serverOn(postgres().sql)
      const receipt = await eraseAndSweep(server, (await fill(server)).session)
      await expect(server.filesRewritten(startedAt as never)).rejects.toMatchObject({
        code: 'bad_input',
        message: expect.stringContaining('filesRewritten: expected the milliseconds since 1970'),
      })
      expect((await receiptOf(server, receipt)).outstanding.files).toBe(true)
    },
  )

  test('[RET-2] a confirmation does not cover what was erased after it began', async () => {
    const clock = movableClock()
    const server = await serverOn(postgres().sql, {environment: clock})
    const startedAt = clock.now()
    clock.advance(1)
    const device = await fill(server)
    const receipt = await eraseAndSweep(server, device.session)
    await server.filesRewritten(startedAt)
    expect((await receiptOf(server, receipt)).outstanding.files).toBe(true)
  })

  test('[RET-2] are never rewritten or locked by the server, whoever erases how much', async () => {
    const {sql, rewrites} = watched(postgres().sql)
    const server = await serverOn(sql)
    rewrites.length = 0
    const receipts = await burst(server)
    await server.sweep()
    expect(rewrites).toEqual([])
    for (const receipt of receipts) expect((await receiptOf(server, receipt)).outstanding.files).toBe(true)
  })
})

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])(
  'erasure.filesGoneAfterMs cannot be %s',
  async filesGoneAfterMs => {
    const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
    await expect(serverOn(pgliteSql(db), {erasure: {filesGoneAfterMs}})).rejects.toMatchObject({code: 'misconfigured'})
    await close()
  },
)
