import {cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {defineAgent, type NodeRuntime, openNodeDatabase, openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import type {LogLine} from '../../runtime/protocol/log-line.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {promptModel} from '../../runtime/testing.ts'
import {createSyncServer, issueToken, jwtAuth, openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {serveNode} from '../../sync-server/node.ts'

const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Answer.', tools: []})
const issue = {secret: 's'.repeat(40), issuer: 'test', audience: 'test'}
const token = () => issueToken({...issue, tenant: 'shop', subject: 'ana'})

let folder: string
let closing: (() => Promise<void>)[]
let lines: LogLine[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-older-copy-'))
  closing = []
  lines = []
})
afterEach(async () => {
  for (const close of closing.toReversed()) await close()
  await rm(folder, {recursive: true, force: true})
})

const at = (name: string) => join(folder, name)

function once(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | null = null
  const closeOnce = () => (closed ??= close())
  closing.push(closeOnce)
  return closeOnce
}

async function server(port = 0) {
  const database = await openNodeDatabase({dataDir: at('server')})
  const sync = createSyncServer({
    store: await openPgStore(pgliteSql(database.db)),
    authenticate: jwtAuth(issue),
    facts: {read: async () => null},
    operations: {},
    log: () => undefined,
  })
  const host = await serveNode(sync, {port})
  return {url: host.url, port: Number(new URL(host.url).port), close: once(() => host.close().finally(database.close))}
}

async function device(name: string, url?: string): Promise<NodeRuntime> {
  const runtime = await openRuntime({
    agent,
    model: promptModel(() => ({text: 'Noted.'})),
    tools: {},
    dataDir: at(name),
    log: line => lines.push(line),
    ...(url && {sync: {url, token}}),
  })
  const close = once(() => runtime.close())
  return {...runtime, close}
}

function latest(session: Session): () => SessionView | undefined {
  let view: SessionView | undefined
  session.subscribe(next => {
    view = next
  })
  return () => view
}

async function say(session: Session, text: string): Promise<void> {
  await session.send(text)
  await session.settled()
}

const sent = (view: () => SessionView | undefined) => expect.poll(() => view()?.pending).toBe(0)
const words = (view: SessionView | undefined) =>
  view?.entries.flatMap(entry => (entry.type === 'message' && entry.from === 'person' ? [entry.text] : []))
/** As a backup has it: whoever has the original open does not have this one open. */
async function backup(from: string, to: string): Promise<void> {
  await cp(at(from), at(to), {recursive: true})
  await rm(at(`${to}/holdfast.lock`), {force: true})
}

async function atServer(url: string, session: string): Promise<string[]> {
  const answer = await fetch(`${url}/v1/sessions/${session}/events?after=0`, {
    headers: {authorization: `Bearer ${await token()}`},
  })
  const {events} = (await answer.json()) as {events: {kind: string; data: {text: string}}[]}
  return events.filter(({kind}) => kind === 'message.posted').map(({data}) => data.text)
}

describe('the folder of a device is restored from an older copy', () => {
  test('[LOG-9] [LOG-2] what is written there before the next contact reaches the server, behind what it missed', async () => {
    const {url} = await server()
    const earlier = await device('device', url)
    const session = await earlier.openSession({agent: 'desk'})
    const view = latest(session)
    await say(session, 'one')
    await sent(view)
    await earlier.setOnline(false)
    await backup('device', 'copy')
    await earlier.setOnline(true)
    await say(session, 'two')
    await sent(view)
    await earlier.close()
    const restored = await device('copy', url)
    const again = await restored.openSession({session: session.id})
    await say(again, 'three')
    const seen = latest(again)
    await expect.poll(() => words(seen())).toEqual(['one', 'three'])
    await restored.setOnline(true)
    await expect.poll(() => words(seen())).toEqual(['one', 'two', 'three'])
    await sent(seen)
    expect(seen()?.rejected).toBe(0)
    expect(await atServer(url, session.id)).toEqual(['one', 'two', 'three'])
  })

  test('[LOG-9] the numbers that were given anew survive a restart of the device', async () => {
    const {url} = await server()
    const earlier = await device('device', url)
    const session = await earlier.openSession({agent: 'desk'})
    const view = latest(session)
    await say(session, 'one')
    await sent(view)
    await earlier.setOnline(false)
    await backup('device', 'copy')
    await earlier.setOnline(true)
    await say(session, 'two')
    await sent(view)
    await earlier.close()
    const restored = await device('copy', url)
    await say(await restored.openSession({session: session.id}), 'three')
    await restored.setOnline(true)
    await expect.poll(() => atServer(url, session.id)).toEqual(['one', 'two', 'three'])
    await restored.close()
    const reopened = await device('copy', url)
    const last = latest(await reopened.openSession({session: session.id}))
    await expect.poll(() => words(last())).toEqual(['one', 'two', 'three'])
    expect(await reopened.recovery()).toBeNull()
  })
})

describe('the folder of the server is restored from an older copy', () => {
  test('[LOG-9] the device says so, keeps what it has and sends nothing into another record', async () => {
    const first = await server()
    const runtime = await device('device', first.url)
    const session = await runtime.openSession({agent: 'desk'})
    const view = latest(session)
    await say(session, 'one')
    await sent(view)
    await first.close()
    await backup('server', 'backup')
    const second = await server(first.port)
    await runtime.setOnline(false)
    await runtime.setOnline(true)
    await say(session, 'two')
    await sent(view)
    const other = await runtime.openSession({agent: 'desk'})
    const otherView = latest(other)
    await say(other, 'elsewhere')
    await sent(otherView)
    await runtime.setOnline(false)
    await second.close()
    await rm(at('server'), {recursive: true})
    await backup('backup', 'server')
    const third = await server(first.port)
    await say(session, 'three')
    await say(other, 'four')
    await runtime.setOnline(true)
    await expect.poll(() => view()?.syncFault).toMatch(/no longer has entries/)
    await expect.poll(() => otherView()?.syncFault).toMatch(/no longer has entries/)
    expect(words(view())).toEqual(['one', 'two', 'three'])
    expect(words(otherView())).toEqual(['elsewhere', 'four'])
    expect(await atServer(third.url, session.id)).toEqual(['one'])
  })
})

describe('a folder that was changed while nobody had it open', () => {
  test('[LOG-9] what was restored is named by the runtime until it is dismissed, and in a log line', async () => {
    const earlier = await device('device')
    const session = await earlier.openSession({agent: 'desk'})
    await say(session, 'one')
    await earlier.close()
    await rm(at('device/postgres'), {recursive: true})
    const damaged = await device('device')
    const found = latest(await damaged.openSession({session: session.id}))
    await expect.poll(() => words(found())).toEqual(['one'])
    expect(await damaged.recovery()).toMatchObject({cause: 'emptied', lost: 0})
    expect(lines.filter(({event}) => event === 'storage.recovered')).toMatchObject([
      {level: 'warn', fields: {'holdfast.recovery_cause': 'emptied', 'holdfast.events_lost': 0}},
    ])
    await damaged.dismissRecovery()
    await damaged.close()
    const later = await device('device')
    expect(await later.recovery()).toBeNull()
  })

  test.each(['outbox.0', 'people.json'])(
    '[LOG-9] %s in the place of which there is a folder or a loop of links',
    async name => {
      const earlier = await device('device')
      await earlier.close()
      await rm(at(`device/${name}`), {force: true})
      await mkdir(at(`device/${name}`))
      await expect(device('device')).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(name),
      })
      await rm(at(`device/${name}`), {recursive: true})
      await symlink(name, at(`device/${name}`))
      await expect(device('device')).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(name),
      })
    },
  )

  test('[LOG-9] a link to nowhere in the place of the database is refused in words for a device', async () => {
    const earlier = await device('device')
    await earlier.close()
    await rm(at('device/postgres'), {recursive: true})
    await symlink('nowhere', at('device/postgres'))
    const error = await device('device').catch((error: unknown) => error)
    expect(error).toMatchObject({
      code: 'database_damaged',
      message: expect.stringContaining('remove what is in the way'),
    })
    expect(String(error)).not.toContain('onDamage')
  })

  test('[LOG-8] files of a newer Postgres are refused and stay as they are', async () => {
    const earlier = await device('device')
    await earlier.close()
    const control = at('device/postgres/global/pg_control')
    const newer = await readFile(control)
    newer.writeUInt32LE(1900, 8)
    newer.writeUInt32LE(202_712_011, 12)
    await writeFile(control, newer)
    await expect(device('device')).rejects.toMatchObject({code: 'version_mismatch'})
    expect(await readFile(control)).toEqual(newer)
  })
})
