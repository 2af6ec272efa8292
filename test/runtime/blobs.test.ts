import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import type {BlobRef} from '../../runtime/protocol/blob.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import type {ToolEntry} from '../../runtime/protocol/transcript.ts'
import {openTestDatabase, type TestDatabase} from '../../runtime/testing.ts'
import {clerkHost, clerkModel} from '../support/blob-clerk.ts'
import {bytesWith, everyByte, refOf} from '../support/blobs.ts'
import {type Device, openDevice, until} from '../support/crashable-device.ts'
import {type LinkFaults, openTestServer, type TestServer} from '../support/desk.ts'

let shop: TestServer
let laptop: TestDatabase
let phone: TestDatabase
beforeAll(async () => {
  shop = await openTestServer()
  laptop = await openTestDatabase()
  phone = await openTestDatabase()
})
afterAll(async () => {
  await Promise.all([shop.close(), laptop.close(), phone.close()])
})

let people = 0
const newPerson = () => `keeper-${++people}`
type Options = {on?: TestDatabase; faults?: LinkFaults; model?: ReturnType<typeof clerkModel>}
function device(subject: string, files: () => unknown, {on = laptop, faults, model = clerkModel()}: Options = {}) {
  return openDevice({db: on.db, shop, subject, model, hosts: [clerkHost(files, model)], ...(faults && {faults})})
}

const rested = (view: SessionView) => view.status === 'completed' && view.pending === 0
const tools = (view: SessionView) => view.entries.filter((entry): entry is ToolEntry => entry.type === 'tool')
const lastResult = (view: SessionView) => tools(view).at(-1)?.result
type Session = Awaited<ReturnType<Device['session']>>

/** Says it and waits until the answer is whole, and with the server unless told. */
async function ask(session: Session, text: string, done = rested) {
  const before = tools(await until(session, () => true)).length
  await session.send(text)
  return until(session, view => tools(view).length > before && done(view))
}

function listed(on: Device, id: string): Promise<void> {
  return new Promise(resolve => {
    const stop = on.sessions.subscribeSessions(list => {
      if (!list.some(item => item.id === id)) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
}

async function joined(on: Device, id: string): Promise<Session> {
  await listed(on, id)
  const session = await on.session(id)
  await until(session, rested)
  return session
}

const blobs = (view: SessionView): BlobRef[] => lastResult(view)?.blobs ?? []

describe('a blob that a tool gave back', () => {
  test('[LOG-5] is on its device, is fetched by another one by its hash, and is then there without the server too', async () => {
    const subject = newPerson()
    const rows = Array.from({length: 5000}, (_, i) => ({id: i, text: `row ${i} \0\ud800`}))
    const one = await device(subject, () => ({image: everyByte, rows}))
    const session = await one.sessions.openSession({agent: 'desk'})
    const view = await ask(session, 'fetchFile')
    const [image, list] = blobs(view)
    expect(image).toEqual(refOf(everyByte))
    expect(lastResult(view)?.output).toMatchObject({...list, excerpt: expect.stringContaining('"row 0 ')})
    expect([...(await session.blob(image as BlobRef))]).toEqual([...everyByte])
    const text = new TextDecoder().decode(await session.blob(list?.$blob ?? ''))
    expect(JSON.parse(text)).toMatchObject({rows})
    const two = await device(subject, () => null, {on: phone})
    const copy = await joined(two, session.id)
    expect([...(await copy.blob(image as BlobRef))]).toEqual([...everyByte])
    await two.sessions.setOnline(false)
    expect([...(await copy.blob(image as BlobRef))]).toEqual([...everyByte])
    await expect(copy.blob(list as BlobRef)).rejects.toMatchObject({code: 'offline'})
    await two.sessions.setOnline(true)
    await Promise.all([one.close(), two.close()])
  })

  test('[LOG-5] made offline waits with its event, goes before it when the server is there, and is one for many results', async () => {
    const subject = newPerson()
    const bytes = bytesWith()
    const paths: string[] = []
    const faults: LinkFaults = {before: (method, path) => void paths.push(`${method} ${path.split('/').slice(4, 5)}`)}
    const one = await device(subject, () => bytes, {faults})
    const session = await one.sessions.openSession({agent: 'desk'})
    await one.sessions.setOnline(false)
    for (const tool of ['fetchFile', 'archive']) await ask(session, tool, ({status}) => status === 'completed')
    expect((await session.blob(refOf(bytes))).length).toBe(3000)
    expect(paths.filter(path => path === 'PUT blobs')).toEqual([])
    await one.sessions.setOnline(true)
    await until(session, rested)
    expect(paths.filter(path => path === 'PUT blobs')).toHaveLength(1)
    const two = await device(subject, () => null, {on: phone})
    expect([...(await (await joined(two, session.id)).blob(refOf(bytes)))]).toEqual([...bytes])
    await Promise.all([one.close(), two.close()])
  })

  test('[LOG-5] is read by a tool that was told its id; one of another session is not there', async () => {
    const subject = newPerson()
    const bytes = bytesWith('\u0007')
    const one = await device(subject, () => bytes)
    const session = await one.sessions.openSession({agent: 'desk'})
    await ask(session, 'fetchFile')
    for (const tool of ['measure', 'inspect']) {
      const view = await ask(session, `${tool} ${refOf(bytes).$blob}`)
      expect(lastResult(view)).toMatchObject({outcome: 'ok', output: {bytes: 3001, last: 7}})
    }
    const other = await one.sessions.openSession({agent: 'desk'})
    for (const [id, code] of [
      [refOf(bytes).$blob, 'has such a blob'],
      ['blob-1', 'expected a blob id'],
    ]) {
      const view = await ask(other, `measure ${id}`)
      expect(lastResult(view)).toMatchObject({
        outcome: 'error',
        output: {error: expect.stringContaining(code as string)},
      })
    }
    await expect(other.blob(refOf(bytes))).rejects.toMatchObject({code: 'not_found'})
    await expect(other.blob('blob-1')).rejects.toMatchObject({code: 'bad_input'})
    // A local tool that holds no transaction yet may leave the device, as a read tool does.
    const two = await device(subject, () => null, {on: phone})
    const copy = await joined(two, session.id)
    await copy.takeOver()
    expect(lastResult(await ask(copy, `inspect ${refOf(bytes).$blob}`))).toMatchObject({outcome: 'ok'})
    expect(lastResult(await ask(copy, `measure ${refOf(bytes).$blob}`))).toMatchObject({outcome: 'ok'})
    expect(lastResult(await ask(copy, `inspect ${refOf(bytes).$blob}`))).toMatchObject({outcome: 'ok'})
    await Promise.all([one.close(), two.close()])
  })

  test('[LOG-5] whose bytes arrive changed, or were spoilt on the disk, is never handed out', async () => {
    const subject = newPerson()
    const bytes = bytesWith()
    const one = await device(subject, () => bytes)
    const session = await one.sessions.openSession({agent: 'desk'})
    await ask(session, 'fetchFile')
    let honest = false
    const faults: LinkFaults = {
      answer: (method, path, response) =>
        method === 'GET' && path.includes('/blobs/') && !honest ? new Response(bytesWith() as BodyInit) : response,
    }
    const two = await device(subject, () => null, {on: phone, faults})
    const copy = await joined(two, session.id)
    await expect(copy.blob(refOf(bytes))).rejects.toMatchObject({code: 'bad_input'})
    honest = true
    expect([...(await copy.blob(refOf(bytes)))]).toEqual([...bytes])
    await phone.db.query(`update holdfast_blobs set bytes = 'other' where session = $1`, [session.id])
    expect([...(await copy.blob(refOf(bytes)))]).toEqual([...bytes])
    await two.sessions.setOnline(false)
    expect([...(await copy.blob(refOf(bytes)))]).toEqual([...bytes])
    await two.sessions.setOnline(true)
    await Promise.all([one.close(), two.close()])
  })

  test('[RUN-6] is read in a branch that inherits it, on each device, and stays with its own session', async () => {
    const subject = newPerson()
    const bytes = bytesWith()
    const one = await device(subject, () => bytes)
    const session = await one.sessions.openSession({agent: 'desk'})
    const {head} = await ask(session, 'fetchFile')
    const branch = await session.fork({after: head})
    expect([...(await branch.blob(refOf(bytes)))]).toEqual([...bytes])
    expect(lastResult(await ask(branch, `inspect ${refOf(bytes).$blob}`))).toMatchObject({outcome: 'ok'})
    const two = await device(subject, () => null, {on: phone})
    expect([...(await (await joined(two, branch.id)).blob(refOf(bytes)))]).toEqual([...bytes])
    const {rows} = await phone.db.query('select session from holdfast_blobs where id = $1', [refOf(bytes).$blob])
    expect(rows).toEqual([{session: session.id}])
    await Promise.all([one.close(), two.close()])
  })

  test('[VIEW-4] costs the model what its beginning costs, were it 5 MB', async () => {
    const prompts: unknown[] = []
    const rows = Array.from({length: 50_000}, (_, i) => `row ${i} ${'y'.repeat(90)}`)
    const one = await device(newPerson(), () => rows, {model: clerkModel(prompts)})
    const session = await one.sessions.openSession({agent: 'desk'})
    const view = await ask(session, 'fetchFile', ({status}) => status === 'completed')
    expect(blobs(view)[0]?.bytes).toBeGreaterThan(5_000_000)
    expect(JSON.stringify(prompts.at(-1)).length).toBeLessThan(5000)
    expect(JSON.stringify(view).length).toBeLessThan(20_000)
    await one.close()
  })
})

describe('the way to the server', () => {
  async function noneLeft(session: string): Promise<void> {
    await shop.db.query('delete from hf_blobs where session = $1', [session])
  }

  test('[SYNC-4] the server that dropped what no event had named yet is sent it again, and no event is refused', async () => {
    const bytes = bytesWith()
    let down = false
    const faults: LinkFaults = {
      before: (method, path) => {
        if (down && method === 'POST' && path.endsWith('/events')) throw new TypeError('fetch failed')
      },
      after: (method, path) => {
        if (method === 'PUT' && decodeURIComponent(path).endsWith(refOf(bytes).$blob)) down = true
      },
    }
    const one = await device(newPerson(), () => bytes, {faults})
    const session = await one.sessions.openSession({agent: 'desk'})
    const asked = ask(session, 'fetchFile', ({status}) => status === 'completed')
    await expect
      .poll(async () => (await shop.db.query('select 1 from hf_blobs where id = $1', [refOf(bytes).$blob])).rows.length)
      .toBe(1)
    await expect.poll(() => down).toBe(true)
    await asked
    await noneLeft(session.id)
    await one.sessions.setOnline(false)
    faults.before = () => undefined
    faults.after = () => undefined
    await one.sessions.setOnline(true)
    const view = await until(session, rested)
    expect([view.rejected, view.syncFault, view.blobsOnlyHere]).toEqual([0, null, 0])
    await one.close()
  })

  test('[SYNC-1] one that has no room takes the event without the bytes; they go when the device starts again and there is', async () => {
    const cramped = await openTestServer({limits: {blobs: {tenantBytes: 5000}}})
    const open = (subject: string, bytes: Uint8Array, on = laptop) =>
      openDevice({db: on.db, shop: cramped, subject, model: clerkModel(), hosts: [clerkHost(() => bytes)]})
    const [greedy, subject] = [newPerson(), newPerson()]
    const tablet = await openTestDatabase()
    const first = await open(greedy, bytesWith(), tablet)
    const filling = await first.sessions.openSession({agent: 'desk'})
    await ask(filling, 'fetchFile')
    const bytes = bytesWith()
    const one = await open(subject, bytes)
    const session = await one.sessions.openSession({agent: 'desk'})
    const view = await ask(session, 'fetchFile')
    expect([view.rejected, view.blobsOnlyHere, view.syncFault]).toEqual([0, 1, null])
    await ask(session, 'archive')
    expect([...(await session.blob(refOf(bytes)))]).toEqual([...bytes])
    const two = await open(subject, bytes, phone)
    const copy = await joined(two, session.id)
    await expect(copy.blob(refOf(bytes))).rejects.toMatchObject({code: 'budget_exhausted'})
    await one.close()
    const link = await cramped.link(greedy)
    await link.request(z.looseObject({}), 'POST', '/v1/erasures', {session: filling.id})
    const again = await open(subject, bytes)
    await until(await again.session(session.id), ({blobsOnlyHere}) => blobsOnlyHere === 0)
    expect([...(await copy.blob(refOf(bytes)))]).toEqual([...bytes])
    await Promise.all([first.close(), two.close(), again.close()])
    await Promise.all([cramped.close(), tablet.close()])
  })
})
