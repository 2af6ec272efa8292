import type {LanguageModelV3CallOptions} from '@ai-sdk/provider'
import type {PGlite} from '@electric-sql/pglite'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {type AgentHost, defineAgent, defineTool, type LocalToolContext} from '../../runtime/loop/define.ts'
import type {MemoryItem, ViewMemory} from '../../runtime/loop/view-memory.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import type {RunId, StepId} from '../../runtime/protocol/ids.ts'
import type {Manifest} from '../../runtime/protocol/manifest.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {type ScriptedStep, scriptedModel} from '../../runtime/testing.ts'
import {type Device, openDevice, until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'

const keep = defineTool({name: 'keep', description: 'x', effect: 'local', input: z.strictObject({n: z.number()})})
const agent = defineAgent({
  name: 'desk',
  version: '1.0.0',
  instructions: 'Be brief.',
  tools: [keep],
  documents: ['plan'],
  budgets: {viewTokens: 2200},
  memory: {name: 'preferences', maxItems: 12},
})
const tools = {
  keep: ({n}: {n: number}, {slots}: LocalToolContext) => {
    slots.patch({n})
    return {kept: n}
  },
}
const hostOf = (model: ReturnType<typeof scriptedModel>, over = {}) =>
  ({agent: {...agent, ...over}, model, tools}) as unknown as AgentHost

let shop: TestServer
const databases: {close(): Promise<void>}[] = []
const devices: Device[] = []
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(async () => {
  for (const device of devices) await device.close()
  for (const database of databases) await database.close()
  await shop.close()
})

async function database(): Promise<PGlite> {
  const opened = await openNodeDatabase({dataDir: 'memory://'})
  databases.push(opened)
  return opened.db
}

async function deviceOn(db: PGlite, steps: ScriptedStep[], more: {over?: object; memory?: ViewMemory} = {}) {
  const model = scriptedModel(steps)
  const hosts = [hostOf(model, more.over)]
  const memory = more.memory && {memory: more.memory}
  const device = await openDevice({db, shop, subject: 'maya', model, hosts, ...memory})
  devices.push(device)
  return {...device, model}
}

const long = (word: string) => `${word} `.repeat(320)
const isSummary = ({prompt}: LanguageModelV3CallOptions) => JSON.stringify(prompt[0]).includes('Summarise')
const summarising = (step: ScriptedStep): ScriptedStep => ({
  ...step,
  expect: options => expect(isSummary(options), 'the model is asked for a summary').toBe(true),
})

async function say(session: Session, text: string) {
  await session.send(text)
  return await until(session, view => view.settled && view.pending === 0)
}

type Row = {kind: string; data: Record<string, unknown>; run: RunId; step: StepId}
async function events(db: PGlite, session: string, kind?: string): Promise<Row[]> {
  const {rows} = await db.query<{body: string}>(
    'select body from holdfast_events where session = $1 order by place, device_seq',
    [session],
  )
  return rows.map(({body}) => JSON.parse(body) as Row).filter(row => !kind || row.kind === kind)
}

/** What every step of a session was sent, as the record gives it back. */
async function rebuilt(device: Device, db: PGlite, session: string) {
  const views = []
  for (const {run, step} of await events(db, session, 'step.prepared')) {
    const view = await device.sessions.viewOf(run, step)
    if (!view) throw new Error(`no view of ${step}`)
    views.push(view)
  }
  return views
}

describe('a long session', () => {
  test('[VIEW-2] [VIEW-3] [WRK-3] is summarised, loses nothing, and every step of it, of a fork and elsewhere, is built again byte for byte', async () => {
    const db = await database()
    const device = await deviceOn(db, [
      {calls: [{tool: 'keep', input: {n: 1}}]},
      {text: long('first')},
      {calls: [{tool: 'keep', input: {n: 2}}]},
      {text: long('second')},
      summarising({text: 'SUMMARY ONE'}),
      {text: 'third'},
      {text: 'in the fork'},
      {text: long('fourth').repeat(3)},
      summarising({text: 'SUMMARY TWO'}),
      {text: 'fifth'},
    ])
    const session = await device.sessions.openSession({agent: 'desk'})
    const plan = session.document('plan')
    await plan.edit('Ask for the order.')
    await say(session, `One. ${long('one')}`)
    await plan.edit('Refund the order.')
    await say(session, `Two. ${long('two')}`)
    const beforeSummary = (await events(db, session.id)).length
    const view = await say(session, 'Three?')

    const [summary] = await events(db, session.id, 'view.compacted')
    expect(summary?.data).toMatchObject({by: 'model', summary: 'SUMMARY ONE', usage: {outputTokens: expect.anything()}})
    const told = view.entries.find(entry => entry.type === 'notice' && entry.about === 'summarised')
    expect(told).toMatchObject({detail: 'SUMMARY ONE'})
    expect(view.entries.filter(({type}) => type === 'message')).toHaveLength(3)
    const all = await events(db, session.id)
    expect(all.slice(0, beforeSummary).map(({kind}) => kind)).not.toContain('view.compacted')
    const last = JSON.stringify(device.model.calls[5]?.prompt)
    for (const part of ['SUMMARY ONE', 'Three?', 'Refund the order.', 'n\\":2']) expect(last).toContain(part)
    expect(last).not.toContain('one one')

    // Later changes of document and slots must not show in what earlier steps saw.
    await plan.edit('Something else.')
    const fork = await session.fork({after: view.head})
    const forked = await say(fork, 'And in the branch?')
    expect(forked.status).toBe('completed')
    await say(session, 'Four?')
    await say(session, 'Five?')
    expect((await events(db, session.id, 'view.compacted')).at(-1)?.data).toMatchObject({
      summary: 'SUMMARY TWO',
      previous: expect.stringMatching(/^evt_/),
    })

    const sent = device.model.calls.filter(call => !isSummary(call))
    const views = [...(await rebuilt(device, db, session.id)), ...(await rebuilt(device, db, fork.id))]
    expect(views.map(({exact, lacking}) => ({exact, lacking}))).toEqual(views.map(() => ({exact: true, lacking: []})))
    const prompts = views.map(({prompt}) => JSON.stringify(prompt)).sort()
    expect(prompts).toEqual(sent.map(({prompt}) => JSON.stringify(prompt)).sort())

    const otherDb = await database()
    const other = await deviceOn(otherDb, [])
    await until(await opened(other, fork.id), there => there.head === forked.head && there.entries.length > 5)
    const last2 = (await events(db, session.id)).length
    await until(await opened(other, session.id), there => there.head >= last2)
    const elsewhere = [...(await rebuilt(other, otherDb, session.id)), ...(await rebuilt(other, otherDb, fork.id))]
    expect(elsewhere.every(({exact}) => exact)).toBe(true)
    expect(elsewhere.map(({prompt}) => JSON.stringify(prompt)).sort()).toEqual(prompts)
  })

  test('[VIEW-3] whose model cannot summarise is summarised by rules, and the run goes on', async () => {
    const db = await database()
    const device = await deviceOn(db, [
      {text: long('first')},
      {text: long('second')},
      summarising({error: new Error('too busy')}),
      {text: 'third'},
    ])
    const session = await device.sessions.openSession({agent: 'desk'})
    await say(session, `One. ${long('one')}`)
    await say(session, `Two. ${long('two')}`)
    expect((await say(session, 'Three?')).status).toBe('completed')
    const [summary] = await events(db, session.id, 'view.compacted')
    expect(summary?.data).toMatchObject({by: 'rules', summary: expect.stringContaining('User: One.')})
    device.model.done()
  })

  test('[VIEW-3] keeps a message that comes while it is being summarised, and a summary that was not stored is made again', async () => {
    const db = await database()
    let go: () => void = () => undefined
    const held = new Promise<void>(resolve => {
      go = resolve
    })
    const first = await deviceOn(db, [
      {text: long('first')},
      {text: long('second')},
      summarising({until: new Promise(() => undefined), text: 'NEVER STORED'}),
    ])
    const session = await first.sessions.openSession({agent: 'desk'})
    await say(session, `One. ${long('one')}`)
    await say(session, `Two. ${long('two')}`)
    await session.send('Three?')
    await until(session, () => first.model.calls.length === 3)
    await first.close()
    devices.splice(devices.indexOf(first), 1)
    expect(await events(db, session.id, 'view.compacted')).toEqual([])

    const second = await deviceOn(db, [summarising({until: held, text: 'AGAIN'}), {text: 'both'}])
    const again = await second.session(session.id)
    await until(again, () => second.model.calls.length === 1)
    await again.send('Four, meanwhile.')
    go()
    const view = await until(again, ({status, settled}) => settled && status === 'completed')
    expect(view.entries.filter(({type}) => type === 'message')).toHaveLength(4)
    const last = JSON.stringify(second.model.calls[1]?.prompt)
    for (const part of ['AGAIN', 'Three?', 'Four, meanwhile.']) expect(last).toContain(part)
    second.model.done()
  })
})

async function opened(device: Device, id: string): Promise<Session> {
  for (;;) {
    const found = await device.session(id).catch(() => null)
    if (found) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

test('[VIEW-2] a later step of a run names only what its view adds; another worker goes on, and all are found again', async () => {
  const db = await database()
  const keeps = (n: number): ScriptedStep => ({calls: [{tool: 'keep', input: {n}}]})
  const first = await deviceOn(db, [
    keeps(1),
    keeps(2),
    keeps(3),
    {text: 'Kept.'},
    keeps(4),
    {until: new Promise(() => {})},
  ])
  const session = await first.sessions.openSession({agent: 'desk'})
  await say(session, 'Keep these.')
  await session.send('And this.')
  await until(session, () => first.model.calls.length === 6)
  const sent = first.model.calls.map(({prompt}) => JSON.stringify(prompt))
  await first.close()
  devices.splice(devices.indexOf(first), 1)

  const second = await deviceOn(db, [keeps(5), {text: 'All kept.'}])
  await until(await second.session(session.id), view => view.settled && view.status === 'completed')
  expect(JSON.stringify(second.model.calls[0]?.prompt)).toBe(sent[5])

  const steps = (await events(db, session.id, 'step.prepared')).map(({data}) => data.manifest as Manifest)
  const named = steps.map(({events, continues}) => [events.length, continues !== undefined])
  expect(named).toEqual([
    [1, false],
    [2, true],
    [4, true],
    [6, true],
    // Another run names all of its own; so does the first step that another worker prepares.
    [9, false],
    [2, true],
    [13, false],
  ])
  const views = await rebuilt(second, db, session.id)
  expect(views.every(({exact}) => exact)).toBe(true)
  const all = [...sent, JSON.stringify(second.model.calls[1]?.prompt)]
  expect(views.map(({prompt}) => JSON.stringify(prompt))).toEqual(all)
})

describe('what can no longer be built again', () => {
  const items: MemoryItem[] = [{id: 'mem-1', revision: 3, text: 'Prefers tea.', source: 'an earlier session'}]
  const memory = (known: () => MemoryItem[]): ViewMemory => ({
    recall: async () => known(),
    byIds: async refs => known().filter(item => refs.some(ref => ref.id === item.id && ref.revision === item.revision)),
  })

  test('[VIEW-2] is named: a forgotten memory, an agent version that this build does not have', async () => {
    const db = await database()
    let known = items
    const device = await deviceOn(db, [{text: 'Hello.'}], {memory: memory(() => known)})
    const session = await device.sessions.openSession({agent: 'desk'})
    await say(session, 'Hello?')
    const [whole] = await rebuilt(device, db, session.id)
    expect(whole).toMatchObject({exact: true})
    expect(JSON.stringify(whole?.prompt)).toContain('Prefers tea.')

    known = [{...items[0]!, revision: 4, text: 'Prefers coffee.'}]
    const [forgotten] = await rebuilt(device, db, session.id)
    expect(forgotten).toMatchObject({
      exact: false,
      lacking: [{part: 'memory:mem-1', why: expect.stringContaining('3')}],
    })
    expect(JSON.stringify(forgotten?.prompt)).not.toMatch(/tea|coffee/)
    await device.close()
    devices.splice(devices.indexOf(device), 1)

    const newer = await deviceOn(db, [], {over: {version: '2.0.0'}, memory: memory(() => items)})
    const [old] = await rebuilt(newer, db, session.id)
    expect(old).toMatchObject({exact: false, lacking: [{part: 'instructions', why: expect.stringContaining('1.0.0')}]})
  })

  test('[VIEW-2] is named: a step whose events another one names, when that is gone', async () => {
    const db = await database()
    const device = await deviceOn(db, [{calls: [{tool: 'keep', input: {n: 1}}]}, {text: 'Kept.'}])
    const session = await device.sessions.openSession({agent: 'desk'})
    await say(session, 'Keep it.')
    const [named, later] = await events(db, session.id, 'step.prepared')
    await db.query('delete from holdfast_events where body like $1 and kind = $2', [
      `%"${named?.step}"%`,
      'step.prepared',
    ])
    expect(await device.sessions.viewOf(later!.run, later!.step)).toMatchObject({
      exact: false,
      lacking: [{part: 'turns', why: expect.stringContaining('goes on from')}],
    })
  })

  test('[VIEW-2] a manifest of the first kind is still read, and its prompt found', async () => {
    const db = await database()
    const device = await deviceOn(db, [{text: 'Hello.'}])
    const session = await device.sessions.openSession({agent: 'desk'})
    await say(session, 'Hello?')
    const [step] = await events(db, session.id, 'step.prepared')
    const manifest = step?.data.manifest as Record<string, unknown>
    const first = {
      events: manifest.events,
      answers: manifest.answers,
      estimatedTokens: manifest.estimatedTokens,
      promptHash: manifest.promptHash,
    }
    await db.query("update holdfast_events set body = replace(body, $1, $2) where kind = 'step.prepared'", [
      JSON.stringify(manifest),
      JSON.stringify(first),
    ])
    expect(await device.sessions.viewOf(step!.run, step!.step)).toMatchObject({exact: true, transforms: []})
  })
})
