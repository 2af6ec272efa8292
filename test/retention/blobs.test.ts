import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {type ErasureReceipt, erasureReceiptSchema} from '../../runtime/protocol/erasure.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {clerkHost, clerkModel} from '../support/blob-clerk.ts'
import {bytesWith, refOf} from '../support/blobs.ts'
import {type Device, openDevice, until} from '../support/crashable-device.ts'
import {type LinkFaults, openTestServer, type TestServer} from '../support/desk.ts'
import {tablesWith} from '../support/scan-database.ts'
import {filesWith} from '../support/scan-files.ts'

type Database = Awaited<ReturnType<typeof openNodeDatabase>>
let shop: TestServer
let folder: string
let laptop: Database
let phone: Database
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-blobs-'))
  shop = await openTestServer()
  laptop = await openNodeDatabase({dataDir: join(folder, 'laptop')})
  phone = await openNodeDatabase({dataDir: join(folder, 'phone')})
})
afterAll(async () => {
  await Promise.all([shop.close(), laptop.close(), phone.close()])
  await rm(folder, {recursive: true, force: true})
})

const words = 'a photograph that nobody may find again'
const atRest = (view: SessionView) => view.status === 'completed' && view.pending === 0
const open = (subject: string, database: Database, bytes: Uint8Array, faults: LinkFaults = {}) =>
  openDevice({db: database.db, shop, subject, model: clerkModel(), hosts: [clerkHost(() => bytes)], faults})

async function photographed(on: Device) {
  const session = await on.sessions.openSession({agent: 'desk'})
  await session.send('fetchFile')
  await until(session, view => atRest(view) && view.head > 6)
  return session
}

async function joined(on: Device, id: string) {
  await new Promise<void>(resolve => {
    const stop = on.sessions.subscribeSessions(list => {
      if (!list.some(item => item.id === id)) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
  const session = await on.session(id)
  await until(session, atRest)
  return session
}

async function erase(subject: string, body: unknown): Promise<ErasureReceipt> {
  return (await shop.link(subject)).request(erasureReceiptSchema, 'POST', '/v1/erasures', body)
}

const receiptOf = async (subject: string, {erasure}: ErasureReceipt) =>
  (await shop.link(subject)).request(erasureReceiptSchema, 'GET', `/v1/erasures/${erasure}`)

test('[RET-2] [RET-3] a blob goes with its session from the server, from its device and from one that fetched it, to the last byte', async () => {
  const subject = 'vera'
  const bytes = bytesWith(words, 6000)
  const [one, two] = [await open(subject, laptop, bytes), await open(subject, phone, bytes)]
  const session = await photographed(one)
  const copy = await joined(two, session.id)
  expect((await copy.blob(refOf(bytes))).length).toBe(bytes.length)
  for (const device of ['laptop', 'phone']) expect(await filesWith(join(folder, device), words)).not.toEqual([])
  expect(await tablesWith(shop.db, words)).toEqual(['hf_blobs'])
  const erased = await erase(subject, {session: session.id})
  expect(erased.layers).toContainEqual({name: 'blobs', removed: 1, kept: null})
  expect(await tablesWith(shop.db, words)).toEqual([])
  await expect.poll(async () => (await receiptOf(subject, erased)).outstanding.devices).toEqual([])
  for (const device of ['laptop', 'phone']) expect(await filesWith(join(folder, device), words)).toEqual([])
  await expect(session.blob(refOf(bytes))).rejects.toMatchObject({code: 'erased'})
  await Promise.all([one.close(), two.close()])
})

test('[RET-3] one that is on its way to a device while it purges is not kept there, and not handed out', async () => {
  const subject = 'wanda'
  const bytes = bytesWith(words, 6000)
  const one = await open(subject, laptop, bytes)
  const session = await photographed(one)
  let arrive = () => {}
  const held = new Promise<void>(resolve => {
    arrive = resolve
  })
  const after: LinkFaults['after'] = (method, path) => (method === 'GET' && path.includes('/blobs/') ? held : undefined)
  const two = await open(subject, phone, bytes, {after})
  const copy = await joined(two, session.id)
  const reading = copy.blob(refOf(bytes)).catch(error => error.code)
  const erased = await erase(subject, {session: session.id})
  await expect.poll(async () => (await receiptOf(subject, erased)).outstanding.devices).toEqual([])
  arrive()
  expect(await reading).toBe('erased')
  expect(await tablesWith(phone.db, words)).toEqual([])
  expect(await filesWith(join(folder, 'phone'), words)).toEqual([])
  await Promise.all([one.close(), two.close()])
})

test('[RET-2] a branch loses the blob that it inherited and keeps its own, were it of the same bytes', async () => {
  const subject = 'xenia'
  const bytes = bytesWith(words, 6000)
  const one = await open(subject, laptop, bytes)
  const session = await photographed(one)
  const {head} = await until(session, atRest)
  const [bare, own] = [await session.fork({after: head}), await session.fork({after: head})]
  await own.send('fetchFile')
  await until(own, view => atRest(view) && view.head > 6)
  await until(bare, view => view.pending === 0 && view.head > 0)
  await erase(subject, {session: session.id})
  await until(session, view => view.erased !== null)
  await expect(bare.blob(refOf(bytes))).rejects.toMatchObject({code: 'not_found'})
  expect([...(await own.blob(refOf(bytes)))]).toEqual([...bytes])
  await one.close()
})
