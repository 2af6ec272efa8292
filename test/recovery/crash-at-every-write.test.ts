import {afterAll, beforeAll, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {type Device, Killer, openDevice, until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
import {promptModel, said} from '../support/prompt-model.ts'

let shop: TestServer
let database: Awaited<ReturnType<typeof openNodeDatabase>>
beforeAll(async () => {
  shop = await openTestServer()
  database = await openNodeDatabase({dataDir: 'memory://'})
  await openPGliteStore(database.db, env)
  await database.db.exec('create table notes (text text)')
})
afterAll(async () => {
  await shop.close()
  await database.close()
})

/** Looks up, writes down and asks for two refunds in one breath; one of them needs an approver. */
const model = promptModel(prompt => {
  if (prompt.some(({role}) => role === 'tool')) return {text: 'Both are done.'}
  return {
    text: 'At once.',
    calls: [
      {tool: 'lookupOrder', input: {orderId: 'A17'}},
      {tool: 'saveNote', input: {text: said(prompt)[0]}},
      {tool: 'refundOrder', input: {orderId: 'B22', cents: 3200}},
      {tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}},
    ],
  }
})

/** Ids that the page holds: after a crash it sends the same calls again. */
function scene(number: number) {
  return {
    subject: `maya-${number}`,
    session: env.id('session'),
    opening: env.id('event'),
    message: env.id('event'),
    text: `Refund both, please (${number}).`,
  }
}
type Scene = ReturnType<typeof scene>

const open = (one: Scene, killer: Killer) =>
  openDevice({db: database.db, shop, subject: one.subject, model, killer, only: one.session})

async function play(device: Device, one: Scene): Promise<SessionView> {
  await device.service.openSession(one.session, {event: one.opening, agent: 'desk'})
  await device.service.send(one.session, one.message, {text: one.text})
  const session = await device.session(one.session)
  await until(session, view => view.status === 'waiting_for_approval' || view.status === 'completed')
  await approve(one.session)
  return await until(session, view => view.status === 'completed' && view.pending === 0)
}

async function approve(session: SessionId): Promise<void> {
  const approver = await shop.link('theo', {roles: ['approver']})
  const waiting = (await approver.inbox('open')).filter(item => item.session === session)
  for (const {approval, digest} of waiting) {
    // A dead device's scene may have been decided a moment ago by its own approver.
    await approver.decide(approval, {verdict: 'approve', digest}).catch(error => {
      if (!HoldfastError.is(error, 'refused')) throw error
    })
  }
}

/** Plays the scene on a device that dies at one point, then on another over the same database. */
async function playWithCrash(one: Scene, at: number): Promise<{view: SessionView; killer: Killer}> {
  const killer = new Killer(at)
  const first = open(one, killer)
  const playing = first.then(device => play(device, one))
  playing.catch(() => undefined)
  const view = await Promise.race([playing.catch(() => null), killer.crashed.then(() => null)])
  if (view && !killer.dead) {
    await (await first).close()
    return {view, killer}
  }
  if (!killer.dead) await playing
  await first.then(device => device.close()).catch(() => undefined)
  await killer.buried()
  const second = await open(one, new Killer(null))
  const after = await play(second, one)
  await second.close()
  return {view: after, killer}
}

type Event = {kind: string; id: string; data: {call?: string}}

async function expectWhole(one: Scene, view: SessionView, paidBefore: number): Promise<void> {
  const entries = view.entries.map(entry =>
    entry.type === 'tool'
      ? `${entry.tool} ${entry.result?.outcome} ${entry.operation?.status ?? '-'}`
      : `${entry.type} ${entry.text}`,
  )
  expect(entries).toEqual([
    `message ${one.text}`,
    'reply At once.',
    'lookupOrder ok -',
    'saveNote ok -',
    'refundOrder ok executed',
    'refundOrder ok executed',
    'reply Both are done.',
  ])
  expect(view.rejected).toBe(0)
  const paid = shop.payments.slice(paidBefore)
  expect(paid.map(({orderId}) => orderId).sort()).toEqual(['A17', 'B22'])
  expect(new Set(paid.map(({operation}) => operation)).size).toBe(2)
  const notes = await database.db.query('select text from notes where text = $1', [one.text])
  expect(notes.rows).toHaveLength(1)
  await expectSameLog(one)
}

async function expectSameLog(one: Scene): Promise<void> {
  const {rows} = await database.db.query<{status: string; body: string}>(
    'select status, body from holdfast_events where session = $1 order by place, device_seq',
    [one.session],
  )
  const here = rows.map(row => JSON.parse(row.body) as Event)
  const there = (await (await shop.link(one.subject)).pull(one.session, 0)).events
  expect(rows.every(row => row.status === 'accepted')).toBe(true)
  expect(here).toEqual(there)
  const results = here.flatMap(event => (event.kind === 'tool.returned' ? [event.data.call] : []))
  expect(results).toHaveLength(4)
  expect(new Set(results).size).toBe(4)
  const once = ['session.opened', 'message.posted', 'run.started', 'run.completed']
  for (const kind of once) expect(here.filter(event => event.kind === kind)).toHaveLength(1)
}

test('[RUN-5] killed before or after any write or request, the next owner ends in the same place: nothing lost, nothing twice', async () => {
  const deaths: string[] = []
  for (let at = 1; ; at++) {
    const one = scene(at)
    const paidBefore = shop.payments.length
    const {view, killer} = await playWithCrash(one, at)
    await expectWhole(one, view, paidBefore)
    if (!killer.dead) break
    expect(killer.points).toBeGreaterThanOrEqual(at)
    deaths.push(killer.passed[at - 1] ?? '')
  }
  // The walk ends only at a scene that had fewer points than its number: every one before it was a death.
  expect(deaths.length).toBeGreaterThan(40)
  const places = new Set(deaths)
  for (const place of ['a transaction', 'saving a fact', 'GET /v1/live', 'POST /v1/sessions/…/events']) {
    expect([...places]).toEqual(expect.arrayContaining([`before ${place}`, `after ${place}`]))
  }
}, 240_000)
