import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {SessionListItem, SessionView} from '../../runtime/protocol/session-view.ts'
import {protocolHeader} from '../../runtime/protocol/wire.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {promptModel} from '../../runtime/testing.ts'
import {type Device, Killer, openDevice, reads, until} from '../support/crashable-device.ts'
import {type LinkFaults, openTestServer, type TestServer} from '../support/desk.ts'
import {tablesWith} from '../support/scan-database.ts'
import {filesWith} from '../support/scan-files.ts'

type Database = Awaited<ReturnType<typeof openNodeDatabase>>
let shop: TestServer
let folder: string
let laptop: Database
let phone: Database
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-purge-'))
  shop = await openTestServer()
  laptop = await openNodeDatabase({dataDir: join(folder, 'laptop')})
  phone = await openNodeDatabase({dataDir: join(folder, 'phone')})
})
afterAll(async () => {
  await Promise.all([shop.close(), laptop.close(), phone.close()])
  await rm(folder, {recursive: true, force: true})
})

const model = promptModel(() => ({text: 'Noted.'}))
let people = 0
const newPerson = () => `person-${++people}`
const secretOf = (subject: string) => `what ${subject} never wants to read again`

function device(subject: string, options: {database?: Database; faults?: LinkFaults; killer?: Killer} = {}) {
  const {database = laptop, ...rest} = options
  return openDevice({db: database.db, shop, subject, model, ...rest})
}

async function erase(subject: string, body: unknown): Promise<ErasureReceipt> {
  const response = await shop.server.app.request('/v1/erasures', {
    method: 'POST',
    headers: {authorization: `Bearer ${await shop.token(subject)}`, [protocolHeader]: '1'},
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as ErasureReceipt
}

async function receiptOf(subject: string, {erasure}: ErasureReceipt): Promise<ErasureReceipt> {
  const headers = {authorization: `Bearer ${await shop.token(subject)}`, [protocolHeader]: '1'}
  const response = await shop.server.app.request(`/v1/erasures/${erasure}`, {headers})
  return (await response.json()) as ErasureReceipt
}

const atRest = (view: SessionView) => view.status === 'completed' && view.pending === 0
const isGone = (view: SessionView) => view.erased !== null

function listed(from: Device, wanted: (list: SessionListItem[]) => boolean): Promise<SessionListItem[]> {
  return new Promise(resolve => {
    const stop = from.sessions.subscribeSessions(list => {
      if (!wanted(list)) return
      resolve(list)
      queueMicrotask(() => stop())
    })
  })
}

/** A conversation with its words in a message, a title and a document, at rest on server and device. */
async function conversation(on: Device, words: string) {
  const session = await on.sessions.openSession({agent: 'desk', title: words})
  await session.send(words)
  await until(session, atRest)
  await session.document('draft').edit(words)
  await until(session, view => view.head > 5 && view.pending === 0)
  return session
}

test('[RET-3] a device that is connected purges at once, and no byte of it is left in its files', async () => {
  const subject = newPerson()
  const words = secretOf(subject)
  const one = await device(subject)
  const session = await conversation(one, words)
  expect(await filesWith(join(folder, 'laptop'), words)).not.toEqual([])
  const erased = await erase(subject, {session: session.id})
  const view = await until(session, isGone)
  expect(view).toMatchObject({
    entries: [{type: 'notice', about: 'erased', text: 'This conversation was erased on request.'}],
    erased: {why: 'requested', unsent: 0},
    pending: 0,
    title: null,
  })
  await expect.poll(async () => (await receiptOf(subject, erased)).outstanding.devices).toEqual([])
  expect(await tablesWith(laptop.db, words)).toEqual([])
  expect(await filesWith(join(folder, 'laptop'), words)).toEqual([])
  await expect(session.send('and another thing')).rejects.toMatchObject({code: 'erased'})
  const [item] = await listed(one, list => list.some(({erased}) => erased !== null))
  expect(item).toMatchObject({id: session.id, excerpt: 'This conversation was erased on request.'})
  await one.close()
})

test('[RET-3] one that was away purges when it comes back; its unsent words are lost and it says so', async () => {
  const subject = newPerson()
  const words = secretOf(subject)
  const [one, two] = [await device(subject), await device(subject, {database: phone})]
  const session = await conversation(one, words)
  await listed(two, list => list.some(({id}) => id === session.id))
  const copy = await two.session(session.id)
  await until(copy, atRest)
  await two.sessions.setOnline(false)
  await copy.send(`${words}, said in a tunnel`)
  const erased = await erase(subject, {session: session.id})
  await until(session, isGone)
  await expect.poll(async () => (await receiptOf(subject, erased)).outstanding.devices).toHaveLength(1)
  expect((await until(copy, () => true)).entries).not.toEqual([])
  await two.sessions.setOnline(true)
  const view = await until(copy, isGone)
  expect(view.erased).toMatchObject({unsent: 1})
  expect(view.entries).toMatchObject([
    {text: 'This conversation was erased on request. One message that had not reached the server went with it.'},
  ])
  // A sweep leaves the files for the next one while a device uses the database.
  await expect
    .poll(async () => {
      await shop.server.sweep()
      return (await receiptOf(subject, erased)).status
    })
    .toBe('complete')
  expect(await filesWith(join(folder, 'phone'), words)).toEqual([])
  expect(await tablesWith(shop.db, words)).toEqual([])
  await Promise.all([one.close(), two.close()])
})

test('[RET-3] a device that dies while it purges starts again with it and only then says that it has', async () => {
  const subject = newPerson()
  const words = secretOf(subject)
  let killer = new Killer(null)
  const first = await device(subject, {killer})
  const session = await conversation(first, words)
  await first.close()
  const erased = await erase(subject, {session: session.id})
  for (const moment of ['before a rewrite', 'after a transaction']) {
    killer = new Killer(null)
    const point = killer.point.bind(killer)
    killer.point = label => {
      point(label)
      if (label.startsWith(moment)) killer.kill()
    }
    const dying = await device(subject, {killer}).catch(() => null)
    await killer.crashed
    await dying?.close()
    await killer.buried()
    expect((await receiptOf(subject, erased)).outstanding.devices).toHaveLength(1)
  }
  const last = await device(subject)
  await expect.poll(async () => (await receiptOf(subject, erased)).outstanding.devices).toEqual([])
  expect(await filesWith(join(folder, 'laptop'), words)).toEqual([])
  await last.close()
})

describe('branches on a device', () => {
  test('[RET-2] keep their own words under a tombstone, and their documents lose what they inherited', async () => {
    const subject = newPerson()
    const words = secretOf(subject)
    const one = await device(subject)
    const session = await conversation(one, words)
    const {head} = await until(session, atRest)
    const branch = await session.fork({after: head})
    await branch.send('In the branch.')
    await until(branch, atRest)
    await reads(branch.document('draft'), words)
    await branch.document('notes').edit('Own notes.')
    await until(branch, view => view.pending === 0 && view.head > 5)
    await erase(subject, {session: session.id})
    const view = await until(branch, ({entries}) => entries[0]?.type === 'notice' && entries[0].about === 'erased')
    expect(view.entries[0]).toMatchObject({text: 'What this branch inherited was erased.'})
    expect(view.entries).toContainEqual(expect.objectContaining({type: 'message', text: 'In the branch.'}))
    await expect.poll(() => filesWith(join(folder, 'laptop'), words)).toEqual([])
    await reads(branch.document('notes'), 'Own notes.')
    await branch.send('And on it goes.')
    await until(branch, atRest)
    await one.close()
  })
})

describe('a whole subject', () => {
  test('[RET-2] every session and every copy of a fact goes from its device, and it can begin anew', async () => {
    const subject = newPerson()
    const words = secretOf(subject)
    const own = await openNodeDatabase({dataDir: join(folder, 'tablet')})
    const one = await device(subject, {database: own})
    const sessions = [await conversation(one, words), await conversation(one, words)]
    await own.db.query(`insert into holdfast_facts values ('order/${subject}', '"${words}"', '1', 1)`)
    const erased = await erase(subject, {subject})
    for (const session of sessions) await until(session, isGone)
    await expect.poll(async () => (await receiptOf(subject, erased)).outstanding.devices).toEqual([])
    const left = await own.db.query<{name: string}>(
      `select table_name as name from information_schema.tables where table_name like 'holdfast%'`,
    )
    for (const {name} of left.rows) {
      const {rows} = await own.db.query(`select * from ${name}`)
      const stays = [
        'holdfast_migrations',
        'holdfast_meta',
        'holdfast_device',
        'holdfast_erased',
        'holdfast_agents',
      ].includes(name)
      expect([name, rows.length > 0]).toEqual([name, stays])
    }
    expect(await filesWith(join(folder, 'tablet'), words)).toEqual([])
    const fresh = await one.sessions.openSession({agent: 'desk'})
    await fresh.send('A new beginning.')
    await until(fresh, atRest)
    await one.close()
    await own.close()
  })
})
