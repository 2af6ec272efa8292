import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import type {InboxItem} from '../../runtime/protocol/approval.ts'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {protocolHeader} from '../../runtime/protocol/wire.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {promptModel} from '../../runtime/testing.ts'
import {openDevice, until} from '../support/crashable-device.ts'
import {networkDown, openTestServer, type TestServer} from '../support/desk.ts'
import {tablesWith} from '../support/scan-database.ts'
import {filesWith} from '../support/scan-files.ts'

let shop: TestServer
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-words-'))
  shop = await openTestServer()
})
afterAll(async () => {
  await shop.close()
  await rm(folder, {recursive: true, force: true})
})

const refund = {tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}
const model = promptModel(prompt => (prompt.at(-1)?.role === 'tool' ? {text: 'It was rejected.'} : {calls: [refund]}))

async function call<T>(subject: string, path: string, body?: unknown): Promise<T> {
  const headers = {authorization: `Bearer ${await shop.token(subject, ['approver'])}`, [protocolHeader]: '1'}
  const init = {headers, ...(body !== undefined && {method: 'POST', body: JSON.stringify(body)})}
  const response = await shop.server.app.request(path, init)
  expect(response.status).toBe(200)
  return (await response.json()) as T
}

async function reject(approver: string, note: string): Promise<void> {
  const {approvals} = await call<{approvals: InboxItem[]}>(approver, '/v1/approvals?status=open')
  const {approval, digest} = approvals[0]!
  await call(approver, `/v1/approvals/${approval}/decision`, {verdict: 'reject', digest, note})
}

const receiptOf = (subject: string, {erasure}: ErasureReceipt) =>
  call<ErasureReceipt>(subject, `/v1/erasures/${erasure}`)
const waits = (view: SessionView) => view.status === 'waiting_for_approval' && view.pending === 0

test('[RET-2] the words of an erased approver go from the devices of others, and the receipt waits for them', async () => {
  const words = 'Acker-Wachtelweizen'
  const dataDir = join(folder, 'ana')
  const database = await openNodeDatabase({dataDir})
  const ana = await openDevice({db: database.db, shop, subject: 'ana', model})
  const session = await ana.sessions.openSession({agent: 'desk'})
  await session.send('Refund A17.')
  await until(session, waits)
  await reject('lea', words)
  await until(session, view => view.status === 'completed' && view.pending === 0)
  expect(await filesWith(dataDir, words)).not.toEqual([])
  await ana.sessions.setOnline(false)
  const erased = await call<ErasureReceipt>('lea', '/v1/erasures', {subject: 'lea'})
  expect(erased.outstanding.devices).toEqual([{device: expect.stringMatching(/^dev_/), lastSeenAt: 0}])
  expect(await tablesWith(database.db, words)).toContain('holdfast_events')
  await ana.sessions.setOnline(true)
  await expect.poll(async () => (await receiptOf('lea', erased)).outstanding.devices).toEqual([])
  expect(await tablesWith(database.db, words)).toEqual([])
  expect(await filesWith(dataDir, words)).toEqual([])
  const view = await until(session, () => true)
  expect(JSON.stringify(view)).toContain('These words were erased.')
  await session.send('Once more.')
  await until(session, view => waits(view))
  await ana.close()
  await database.close()
})

test('[RET-3] a rejection that a device had not pushed when its words were erased brings none of them back', async () => {
  const words = 'Wiesen-Wachtelweizen'
  const dataDir = join(folder, 'bea')
  const database = await openNodeDatabase({dataDir})
  let cut = false
  const before = (method: string, path: string) => {
    if (cut && method === 'POST' && path.endsWith('/events')) networkDown()
  }
  const bea = await openDevice({db: database.db, shop, subject: 'bea', model, faults: {before}})
  const session = await bea.sessions.openSession({agent: 'desk'})
  await session.send('Refund A17.')
  await until(session, waits)
  cut = true
  await reject('lou', words)
  await until(session, view => view.status === 'completed' && view.pending > 0)
  const erased = await call<ErasureReceipt>('lou', '/v1/erasures', {subject: 'lou'})
  expect(await tablesWith(shop.db, words)).toEqual([])
  await expect.poll(async () => (await receiptOf('lou', erased)).outstanding.devices).toEqual([])
  expect(await tablesWith(database.db, words)).toEqual([])
  expect(await filesWith(dataDir, words)).toEqual([])
  cut = false
  await bea.sessions.setOnline(false)
  await bea.sessions.setOnline(true)
  await until(session, view => view.pending === 0)
  const view = await until(session, () => true)
  expect(view.rejected).toBe(0)
  expect(await tablesWith(shop.db, words)).toEqual([])
  await bea.close()
  await database.close()
})

test('[RET-2] a page that was fetched before the erasure and arrives after it brings no words back', async () => {
  const words = 'Kamm-Wachtelweizen'
  const dataDir = join(folder, 'cleo')
  const database = await openNodeDatabase({dataDir})
  let [hold, held] = [false, false]
  let release = () => {}
  const gate = new Promise<void>(resolve => {
    release = resolve
  })
  const after = async (method: string, path: string, response: Response) => {
    if (!hold || method !== 'GET' || !path.includes('/events') || !(await response.clone().text()).includes(words))
      return
    held = true
    await gate
  }
  const cleo = await openDevice({db: database.db, shop, subject: 'cleo', model, faults: {after}})
  const session = await cleo.sessions.openSession({agent: 'desk'})
  await session.send('Refund A17.')
  await until(session, waits)
  hold = true
  await reject('lin', words)
  await expect.poll(() => held).toBe(true)
  const erased = await call<ErasureReceipt>('lin', '/v1/erasures', {subject: 'lin'})
  await expect.poll(async () => (await receiptOf('lin', erased)).outstanding.devices).toEqual([])
  release()
  const view = await until(session, ({status, pending}) => status === 'completed' && pending === 0)
  expect(JSON.stringify(view)).toContain('These words were erased.')
  expect(await tablesWith(database.db, words)).toEqual([])
  expect(await filesWith(dataDir, words)).toEqual([])
  await cleo.close()
  await database.close()
})

test('[RET-2] a result whose push is answered after the erasure is confirmed without the words', async () => {
  const words = 'Feld-Wachtelweizen'
  const dataDir = join(folder, 'dora')
  const database = await openNodeDatabase({dataDir})
  let held = false
  let release = () => {}
  const gate = new Promise<void>(resolve => {
    release = resolve
  })
  const hold = {events: false}
  const after = async (method: string, path: string) => {
    if (!hold.events || method !== 'POST' || !path.endsWith('/events')) return
    held = true
    await gate
  }
  const dora = await openDevice({db: database.db, shop, subject: 'dora', model, faults: {after}})
  const session = await dora.sessions.openSession({agent: 'desk'})
  await session.send('Refund A17.')
  await until(session, waits)
  hold.events = true
  await reject('luz', words)
  await expect.poll(() => held).toBe(true)
  expect(await tablesWith(database.db, words)).not.toEqual([])
  const erased = await call<ErasureReceipt>('luz', '/v1/erasures', {subject: 'luz'})
  await expect.poll(async () => (await receiptOf('luz', erased)).outstanding.devices).toEqual([])
  release()
  const view = await until(session, ({status, pending}) => status === 'completed' && pending === 0)
  expect(view.rejected).toBe(0)
  expect(await tablesWith(database.db, words)).toEqual([])
  expect(await filesWith(dataDir, words)).toEqual([])
  await dora.close()
  await database.close()
})
