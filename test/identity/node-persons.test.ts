import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest'
import {type NodeRuntime, openRuntime} from '../../runtime/node.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {promptModel} from '../../runtime/testing.ts'
import type {Principal} from '../../sync-server/principal.ts'
import {desk, deskTools, openTestServer, type TestServer} from '../support/desk.ts'

/** Tokens that say nothing by themselves: whom one is for, only the server knows. */
const tokens = new Map<string, {tenant: string; subject: string}>()
let shop: TestServer
let url: string
let reachable = true
let beforeMe: () => void = () => undefined
let asked: string[] = []
let httpServer: {close(): void}
beforeAll(async () => {
  shop = await openTestServer({
    authenticate: async request => {
      const {authorization = '', cookie = ''} = Object.fromEntries(request.headers)
      const person = tokens.get(authorization.replace('Bearer ', '') || cookie)
      if (!person) throw new HoldfastError('unauthenticated', 'no such token')
      return {...person, roles: [], expiresAt: Date.now() + 3_600_000} as unknown as Principal
    },
  })
  const {serve} = await import('@hono/node-server')
  const fetch = async (request: Request) => {
    asked.push(`${request.method} ${new URL(request.url).pathname} ${request.headers.get('authorization')}`)
    if (request.url.endsWith('/v1/me')) beforeMe()
    return reachable ? shop.server.fetch(request) : new Response('down', {status: 502})
  }
  url = await new Promise(resolve => {
    const server = serve({fetch, port: 0, hostname: '127.0.0.1'}, ({port}) => resolve(`http://127.0.0.1:${port}`))
    httpServer = server
  })
})
afterAll(async () => {
  httpServer.close()
  await shop.close()
})

let folder: string
let people = 0
/** A token of a person of its own, whose name no file system would take. */
function signIn(subject = `Łéa/../${++people}`, tenant = 'shop'): string {
  const token = `opaque-${tokens.size}`
  tokens.set(token, {tenant, subject})
  return token
}
let open: NodeRuntime[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-persons-'))
  reachable = true
  beforeMe = () => undefined
  asked = []
})
afterEach(async () => {
  for (const runtime of open) await runtime.close()
  open = []
  await rm(folder, {recursive: true, force: true})
})

async function device(token: string | (() => Promise<string | null>)): Promise<NodeRuntime> {
  const runtime = await openRuntime({
    agent: desk,
    model: promptModel(() => ({text: 'Noted.'})),
    tools: deskTools,
    dataDir: folder,
    sync: {url, token},
  })
  open.push(runtime)
  return runtime
}

async function close(runtime: NodeRuntime): Promise<void> {
  open = open.filter(each => each !== runtime)
  await runtime.close()
}

async function say(runtime: NodeRuntime, text: string): Promise<string> {
  const session = await runtime.openSession({agent: 'desk', title: text})
  await session.send(text)
  return session.id
}

async function titles(
  runtime: NodeRuntime,
  wanted: (titles: (string | null)[]) => boolean,
): Promise<(string | null)[]> {
  return await new Promise(resolve => {
    const stop = runtime.subscribeSessions(list => {
      const found = list.map(({title}) => title)
      if (!wanted(found)) return
      resolve(found)
      queueMicrotask(() => stop())
    })
  })
}

async function view(runtime: NodeRuntime, id: string, wanted: (view: SessionView) => boolean): Promise<SessionView> {
  const session = await runtime.openSession({session: id})
  return await new Promise(resolve => {
    const stop = session.subscribe(seen => {
      if (!wanted(seen)) return
      resolve(seen)
      queueMicrotask(() => stop())
    })
  })
}

async function personIs(runtime: NodeRuntime, subject: string | null): Promise<void> {
  if ((runtime.person.get()?.subject ?? null) === subject) return
  await new Promise<void>(resolve => {
    const stop = runtime.person.subscribe(person => {
      if ((person?.subject ?? null) !== subject) return
      stop()
      resolve()
    })
  })
}

const sentAll = ({pending, head}: SessionView) => pending === 0 && head > 0
const subjectOf = (token: string) => tokens.get(token)?.subject ?? ''

describe('[ID-6] two persons in one folder', () => {
  test('what one wrote offline is neither shown to nor sent for the other, and is sent when the first is back', async () => {
    const [ana, ben] = [signIn(), signIn()]
    const first = await device(ana)
    await say(first, 'online')
    await personIs(first, subjectOf(ana))
    reachable = false
    await first.setOnline(false)
    const offline = await say(first, 'private')
    await first.setOnline(true)
    await close(first)

    reachable = true
    asked = []
    const second = await device(ben)
    await personIs(second, subjectOf(ben))
    await say(second, 'of ben')
    expect(await titles(second, list => list.length > 0)).toEqual(['of ben'])
    await expect(second.openSession({session: offline})).rejects.toMatchObject({code: 'not_found'})
    expect(asked.filter(line => line.includes(offline) && line.startsWith('POST'))).toEqual([])
    await close(second)

    const third = await device(ana)
    await personIs(third, subjectOf(ana))
    const back = await view(third, offline, sentAll)
    expect(back.rejected).toBe(0)
    expect((await titles(third, list => list.length === 2)).toSorted()).toEqual(['online', 'private'])
    const {rows} = await shop.db.query<{subject: string}>('select subject from hf_sessions where id = $1', [offline])
    expect(rows).toEqual([{subject: subjectOf(ana)}])
  })

  test('the same subject of another tenant is another person', async () => {
    const here = signIn('same')
    const there = signIn('same', 'elsewhere')
    const first = await device(here)
    await say(first, 'here')
    await close(first)
    const second = await device(there)
    await say(second, 'there')
    await expect.poll(() => second.person.get()?.tenant).toBe('elsewhere')
    const list = await titles(second, found => found.length === 1 && found[0] !== 'here')
    expect(list).not.toContain('here')
  })

  test('each has a device id of their own, and no name of theirs is a name of a file', async () => {
    const [ana, ben] = [signIn(), signIn()]
    let token = ana
    const runtime = await device(async () => token)
    await say(runtime, 'a')
    const id = async () => (await runtime.db.query<{id: string}>('select id from holdfast_device')).rows[0]?.id
    const before = await id()
    token = ben
    await runtime.switchPerson()
    await personIs(runtime, subjectOf(ben))
    expect(await id()).not.toBe(before)
    const names = await readdir(join(folder, 'people'))
    expect(names.every(name => /^[0-9a-f]{32}$/.test(name))).toBe(true)
  })
})

describe('[ID-6] a change of person in a running runtime', () => {
  test('empties every list first, ends sessions of the earlier person, and says what they leave unsent', async () => {
    const [ana, ben] = [signIn(), signIn()]
    let token = ana
    const runtime = await device(async () => token)
    await say(runtime, 'online')
    await runtime.setOnline(false)
    const session = await runtime.openSession({agent: 'desk', title: 'private'})
    await session.send('private')
    const lists: (string | null)[][] = []
    const seen: string[] = []
    runtime.subscribeSessions(list => lists.push(list.map(({title}) => title)))
    session.subscribe(({status}) => seen.push(status))
    await expect.poll(() => lists.at(-1)?.length).toBe(2)
    await expect.poll(() => seen.at(-1)).toBe('completed')
    token = ben
    const frames = seen.length
    const left = await runtime.switchPerson()
    expect(left.person.subject).toBe(subjectOf(ben))
    expect(left.unsent).toBeGreaterThan(0)
    await personIs(runtime, subjectOf(ben))
    await say(runtime, 'of ben')
    await expect.poll(() => lists.at(-1)).toEqual(['of ben'])
    const emptied = lists.findLastIndex(list => list.includes('private')) + 1
    expect(lists[emptied]).toEqual([])
    expect(seen.length).toBe(frames)
    await expect(session.send('more')).rejects.toMatchObject({code: 'unauthenticated'})
  })

  test('happens by itself when the server names somebody else, and nothing of the batch is judged for them', async () => {
    const [ana, ben] = [signIn(), signIn()]
    let token = ana
    const runtime = await device(async () => token)
    const id = await say(runtime, 'first')
    await view(runtime, id, sentAll)
    // The same cookie or token is another's from now on, between two requests.
    const owner = tokens.get(ana)
    tokens.set(ana, tokens.get(ben) as never)
    token = ben
    const session = await runtime.openSession({session: id})
    await session.send('for ana alone').catch(() => undefined)
    await personIs(runtime, subjectOf(ben))
    tokens.set(ana, owner as never)
    token = ana
    await runtime.switchPerson()
    await personIs(runtime, subjectOf(ana))
    const back = await view(runtime, id, seen => sentAll(seen) && seen.entries.length >= 4)
    expect(back.rejected).toBe(0)
    expect(back.entries.flatMap(entry => (entry.type === 'message' ? [entry.text] : []))).toEqual([
      'first',
      'for ana alone',
    ])
  })

  test('after a sign-out nothing is shown or taken until somebody signs in', async () => {
    const ana = signIn()
    let token: string | null = ana
    const runtime = await device(async () => token)
    const id = await say(runtime, 'mine')
    await view(runtime, id, sentAll)
    await expect.poll(() => runtime.person.get()?.unsent).toBe(0)
    expect(await runtime.signOut()).toEqual({unsent: 0})
    expect(runtime.person.get()).toBe(null)
    expect(await titles(runtime, () => true)).toEqual([])
    await expect(runtime.openSession({agent: 'desk'})).rejects.toMatchObject({code: 'unauthenticated'})
    token = null
    await expect(runtime.switchPerson()).rejects.toMatchObject({code: 'unauthenticated'})
    await close(runtime)
    const reopened = await device(async () => token)
    expect(await titles(reopened, () => true)).toEqual([])
    token = ana
    await reopened.switchPerson()
    expect(await titles(reopened, list => list.length === 1)).toEqual(['mine'])
  })
})

describe('[ID-6] what was typed and is not stored yet', () => {
  test('is stored for the person who typed it, however soon they leave', async () => {
    const [ana, ben] = [signIn(), signIn()]
    let token = ana
    const runtime = await device(async () => token)
    const id = await say(runtime, 'with a draft')
    await personIs(runtime, subjectOf(ana))
    const draft = (await runtime.openSession({session: id})).document('draft')
    let later: Promise<void> = Promise.resolve()
    beforeMe = () => {
      beforeMe = () => undefined
      later = draft.edit('Dear Lena,')
    }
    token = ben
    await draft.edit('Dear')
    await runtime.switchPerson()
    await later
    await personIs(runtime, subjectOf(ben))
    token = ana
    await runtime.switchPerson()
    const texts: string[] = []
    const stop = (await runtime.openSession({session: id})).document('draft').subscribe(text => texts.push(text))
    await expect.poll(() => texts.at(-1)).toBe('Dear Lena,')
    stop()
  })
})

describe('[ID-6] wiping', () => {
  test('is refused while something is unsent, and then leaves nothing of this person and everything of others', async () => {
    const [ana, ben] = [signIn(), signIn()]
    let token = ana
    const runtime = await device(async () => token)
    await say(runtime, 'canary-of-ana-1')
    await personIs(runtime, subjectOf(ana))
    token = ben
    await runtime.switchPerson()
    const kept = await say(runtime, 'canary-of-ben')
    await view(runtime, kept, sentAll)
    token = ana
    await runtime.switchPerson()
    await personIs(runtime, subjectOf(ana))
    await runtime.setOnline(false)
    await say(runtime, 'canary-of-ana-2')
    await expect(runtime.wipe()).rejects.toMatchObject({code: 'refused', details: {unsent: expect.any(Number)}})
    expect((await runtime.wipe({discardUnsent: true})).unsent).toBeGreaterThan(0)
    const found = await filesWith(folder, 'canary-of-ana')
    expect(found).toEqual([])
    expect(await filesWith(folder, subjectOf(ana))).toEqual([])
    token = ben
    await runtime.switchPerson()
    expect(await titles(runtime, list => list.length === 1)).toEqual(['canary-of-ben'])
  })

  test('loses no more than was shown, and counts all that was acknowledged before', async () => {
    const ana = signIn()
    const runtime = await device(ana)
    await say(runtime, 'online')
    await personIs(runtime, subjectOf(ana))
    await runtime.setOnline(false)
    const id = await say(runtime, 'shown')
    const session = await runtime.openSession({session: id})
    await session.settled()
    await expect.poll(() => runtime.person.get()?.unsent).toBeGreaterThan(0)
    const shown = runtime.person.get()?.unsent ?? 0
    await session.send('written meanwhile')
    await expect(runtime.wipe({discardUnsent: shown})).rejects.toMatchObject({
      code: 'refused',
      details: {unsent: expect.any(Number), most: shown},
    })
    // Refused, the person goes on.
    await session.send('written after')
    await session.settled()
    const before =
      (await runtime.db.query<{n: number}>(`select count(*)::int as n from holdfast_events where status = 'pending'`))
        .rows[0]?.n ?? 0
    const sends = Array.from({length: 20}, (_, i) =>
      session.send(`at once ${i}`).then(
        () => 1,
        () => 0,
      ),
    )
    const {unsent} = await runtime.wipe({discardUnsent: true})
    const taken = (await Promise.all(sends)).reduce<number>((sum, one) => sum + one, 0)
    expect(unsent).toBeGreaterThanOrEqual(before + taken)
  })
})

describe('[ID-6] a runtime that had no server', () => {
  test('hands what it wrote to the first person who signs in, and all of it is accepted in their name', async () => {
    const local = await openRuntime({
      agent: desk,
      model: promptModel(() => ({text: 'Noted.'})),
      tools: deskTools,
      dataDir: folder,
    })
    open.push(local)
    const id = await say(local, 'before any server')
    await (await local.openSession({session: id})).settled()
    await close(local)

    const ana = signIn()
    const runtime = await device(ana)
    await personIs(runtime, subjectOf(ana))
    const shown = await view(runtime, id, sentAll)
    expect(shown.rejected).toBe(0)
    expect(shown.syncFault ?? null).toBe(null)
    const stored = await shop.db.query<{subject: string}>('select subject from hf_sessions where id = $1', [id])
    expect(stored.rows).toEqual([{subject: subjectOf(ana)}])
    await (await runtime.openSession({session: id})).send('and after')
    const later = await view(runtime, id, seen => sentAll(seen) && seen.entries.length >= 4)
    expect(later.rejected).toBe(0)
  })
})

async function filesWith(root: string, text: string): Promise<string[]> {
  const entries = await readdir(root, {recursive: true, withFileTypes: true})
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const found = await Promise.all(files.map(async file => ((await readFile(file)).includes(text) ? [file] : [])))
  return found.flat()
}
