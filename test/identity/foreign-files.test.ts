import {cp, mkdir, mkdtemp, readdir, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {defineAgent, type NodeRuntime, openNodeDatabase, openRuntime} from '../../runtime/node.ts'
import type {SessionListItem} from '../../runtime/protocol/session-view.ts'
import {promptModel} from '../../runtime/testing.ts'
import {createSyncServer, issueToken, jwtAuth, openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {serveNode} from '../../sync-server/node.ts'

const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Answer.', tools: []})
const issue = {secret: 's'.repeat(40), issuer: 'test', audience: 'test'}

let root: string
let url: string
let close: () => Promise<void>
let number = 0

/** Two devices that were closed offline, and one that knows both persons. */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdfast-foreign-files-'))
  const database = await openNodeDatabase({dataDir: 'memory://'})
  const sync = createSyncServer({
    store: await openPgStore(pgliteSql(database.db)),
    authenticate: jwtAuth(issue),
    facts: {read: async () => null},
    operations: {},
    log: () => undefined,
  })
  const host = await serveNode(sync, {port: 0})
  url = host.url
  close = () => host.close().finally(database.close)
  await leave('ana', ['ana'])
  await leave('ben', ['ben'])
  await leave('both', ['ben', 'ana'])
})
afterAll(async () => {
  await close()
  await rm(root, {recursive: true, force: true})
})

async function device(name: string, subject: string): Promise<NodeRuntime> {
  const token = () => issueToken({...issue, tenant: 'shop', subject})
  const model = promptModel(() => ({text: 'Noted.'}))
  return openRuntime({agent, model, tools: {}, dataDir: join(root, name), sync: {url, token}})
}

async function leave(name: string, subjects: readonly string[]): Promise<void> {
  for (const [i, subject] of subjects.entries()) {
    const runtime = await device(name, subject)
    await named(runtime, subject)
    const session = await runtime.openSession({agent: 'desk', title: `of ${subject}`})
    await session.send('Mine.')
    await session.settled()
    // A device whose connection is switched off does not ask who has signed in.
    if (i === subjects.length - 1) await runtime.setOnline(false)
    await runtime.close()
  }
}

async function named(runtime: NodeRuntime, subject: string): Promise<void> {
  await new Promise<void>(resolve => {
    const look = () => {
      if (runtime.person.get()?.subject === subject) resolve()
    }
    runtime.person.subscribe(look)
    look()
  })
}

/** A copy of a device's folder in which `names` are taken from another folder. */
async function mixed(of: string, names: readonly string[], from: string, place = ''): Promise<string> {
  const name = `mixed-${++number}`
  await cp(join(root, of), join(root, name), {recursive: true})
  for (const file of names) {
    await rm(join(root, name, place, file), {recursive: true, force: true})
    await mkdir(join(root, name, place), {recursive: true})
    await cp(join(root, from, file), join(root, name, place, file), {recursive: true})
  }
  return name
}

const database = ['postgres', 'generation', 'generation.json']
const outbox = ['outbox.0', 'outbox.1']
const there = async (folder: string, names: readonly string[]) => {
  const found = await readdir(join(root, folder))
  return names.filter(name => found.includes(name))
}

async function listed(runtime: NodeRuntime): Promise<(string | null)[]> {
  const items = await new Promise<readonly SessionListItem[]>(resolve => {
    const stop = runtime.subscribeSessions(list => {
      resolve(list)
      queueMicrotask(() => stop())
    })
  })
  return items.map(({title}) => title)
}

test.each([
  ['all files but the index', [...database, ...outbox]],
  ['the database', database],
  ['the outbox', outbox],
])('[ID-6] %s of another person: refused offline, and the own files open again', async (_, wanted) => {
  const names = await there('ben', wanted)
  const folder = await mixed('ana', names, 'ben')
  await expect(device(folder, 'ana')).rejects.toMatchObject({
    code: 'other_person',
    message: expect.stringContaining('name different persons'),
  })
  for (const name of names) {
    await rm(join(root, folder, name), {recursive: true})
    await cp(join(root, 'ana', name), join(root, folder, name), {recursive: true})
  }
  const runtime = await device(folder, 'ana')
  expect(await listed(runtime)).toEqual(['of ana'])
  await runtime.close()
})

test('[ID-6] a damaged database is not put back into the outbox of another person', async () => {
  const folder = await mixed('ana', await there('ben', outbox), 'ben')
  await rm(join(root, folder, 'postgres/global/pg_control'))
  await expect(device(folder, 'ana')).rejects.toMatchObject({code: 'other_person'})
})

test('[ID-6] files of another person are refused in the place of the second person of a folder', async () => {
  const [place] = await readdir(join(root, 'both/people'))
  const names = await there('ben', [...database, ...outbox])
  const folder = await mixed('both', names, 'ben', `people/${place}`)
  await expect(device(folder, 'ana')).rejects.toMatchObject({code: 'other_person'})
})
