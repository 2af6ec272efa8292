import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {createSyncServer, openPgStore, pgliteSql, type Sql, type SyncServer} from '../../sync-server/index.ts'
import {bytesWith, refOf} from '../support/blobs.ts'
import {realPostgres} from '../support/real-postgres.ts'
import {filesWith} from '../support/scan-files.ts'
import {putBlob} from '../sync-server/support/blob-calls.ts'
import {call, trustingAuth, type Who} from '../sync-server/support/caller.ts'
import {testDevice} from '../sync-server/support/device.ts'
import {refundDesk} from '../sync-server/support/refund-desk.ts'

const who: Who = {tenant: 'acme', subject: 'ana'}
const words = 'the-words-that-nobody-may-find-again'

async function serverOn(sql: Sql, rewriteFiles = true): Promise<SyncServer> {
  const desk = refundDesk(sql)
  await desk.prepare()
  return createSyncServer({
    store: await openPgStore(sql),
    authenticate: trustingAuth,
    facts: desk.facts,
    operations: desk.operation(),
    erasure: {rewriteFiles},
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
  return (await call<ErasureReceipt>(server, who, `/v1/erasures/${body.erasure}`)).body
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
})

describe('the files of Postgres', () => {
  const postgres = realPostgres()

  test('[RET-3] hold no byte of an erased session, statistics and write-ahead log included', async () => {
    const {sql, dataDir} = postgres()
    const server = await serverOn(sql)
    const device = await fill(server)
    await sql.query('ANALYZE')
    await sql.query('CHECKPOINT')
    const before = await filesWith(dataDir, words)
    expect(before.some(file => file.includes('pg_wal')) && before.some(file => file.includes('base'))).toBe(true)
    expect(await eraseAndSweep(server, device.session)).toMatchObject({outstanding: {files: false}})
    expect(await filesWith(dataDir, words)).toEqual([])
  })

  test('[RET-3] are the host’s own affair when it says so, and nothing waits for them', async () => {
    const {sql, dataDir} = postgres()
    const server = await serverOn(sql, false)
    const device = await fill(server)
    await sql.query('CHECKPOINT')
    const {body} = await call<ErasureReceipt>(server, who, '/v1/erasures', {session: device.session})
    expect(body.outstanding.files).toBe(false)
    expect(await filesWith(dataDir, words)).not.toEqual([])
    await (await openPgStore(sql)).scrub()
    expect(await filesWith(dataDir, words)).toEqual([])
  })
})
