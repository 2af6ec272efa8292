import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {RunId} from '../../runtime/protocol/ids.ts'
import {checkRunExport, type RunExport} from '../../runtime/protocol/run-export.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'
import {deskScenes, type Scene} from '../support/desk-scenes.ts'

const scenes = deskScenes()
const model = scriptedModel([
  {
    text: 'Let me see.',
    calls: [
      {tool: 'lookupOrder', input: {orderId: 'A17'}},
      {tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}},
      {tool: 'refundOrder', input: {orderId: 'B22', cents: 100}},
    ],
  },
  {text: 'Done.'},
  {text: 'You are welcome.'},
  {text: 'In a branch.'},
])
let scene: Scene
const runs: RunId[] = []

beforeAll(async () => {
  scene = await scenes.play(model)
  const {session} = scene
  await session.send('Refund A17.')
  const waiting = await until(session, view => view.status === 'waiting_for_approval' && view.pending === 0)
  runs.push(waiting.passport!.run)
  const [item] = await scenes.inbox(scene)
  await scenes.decide(item!, 'approve')
  await until(session, view => view.status === 'completed' && view.pending === 0)
  await session.send('Thank you.')
  const last = await until(
    session,
    view => view.passport?.run !== runs[0] && view.status === 'completed' && !view.pending,
  )
  runs.push(last.passport!.run)
})
afterAll(() => scene?.device.close())

async function fromServer(run: RunId, subject = scene.subject) {
  const authorization = `Bearer ${await scenes.shop.token(subject)}`
  const request = new Request(`http://desk.test/v1/runs/${run}/export`, {headers: {authorization}})
  const response = await scenes.shop.server.fetch(request)
  return {status: response.status, file: (await response.json()) as RunExport}
}
const fromDevice = async (run: RunId) => (await scene.device.sessions.exportRun(run)) as RunExport

/** Takes away what the step says from which a later one goes on. */
function withoutNamedStep(file: RunExport): void {
  const manifests = file.events.map(({data}) => data.manifest as {continues?: {step: string}} | undefined)
  const step = manifests.find(manifest => manifest?.continues)?.continues?.step
  const earlier = file.events.find(({id}) => id === step)
  if (!earlier) throw new Error('no step goes on from another')
  Object.assign(earlier, {kind: 'message.posted', data: {text: 'nothing'}})
}

describe('a run as one file', () => {
  test.each([
    ['the latest', 1],
    ['one that a later run followed', 0],
  ])('[OBS-2] of %s holds together, from the server and from the device, and tells the same', async (_, which) => {
    const run = runs[which]!
    const [{file}, own] = [await fromServer(run), await fromDevice(run)]
    for (const each of [file, own]) expect(checkRunExport(each).faults).toEqual([])
    expect(own.events).toEqual(file.events)
    expect(own.operations).toEqual(file.operations)
    expect(own.approvals).toEqual(file.approvals)
    expect(own.passport).toEqual(file.passport)
    expect(file.passport).toEqual(JSON.parse(JSON.stringify(await scene.device.sessions.passport(run))))
    expect([file.over, file.usage.calls, own.usage.calls]).toEqual([which === 0 ? 'superseded' : null, [], null])
  })

  test('[OBS-2] tells what was proposed, who decided, what it came to, and what it took', async () => {
    const {file} = await fromServer(runs[0]!)
    const [large, small] = file.operations
    expect(large).toMatchObject({tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}, status: 'executed'})
    expect(small).toMatchObject({input: {orderId: 'B22', cents: 100}, status: 'executed', digest: expect.any(String)})
    expect(file.approvals).toMatchObject([
      {operation: large?.operation, digest: large?.digest, status: 'granted', decidedBy: 'theo', role: 'approver'},
    ])
    expect(file.usage.steps.map(step => step.finish)).toEqual(['tool-calls', 'stop'])
    expect(checkRunExport(file).state?.run).toMatchObject({id: runs[0], ended: 'completed', steps: 2})
  })

  const tampered: [string, (file: RunExport) => void, string][] = [
    ['another receipt', file => void Object.assign(file.operations[0]!, {outcome: {cents: 1}}), 'operations'],
    ['another approver', file => void Object.assign(file.approvals[0]!, {decidedBy: 'eve'}), 'approvals'],
    ['other tokens', file => void Object.assign(file.usage.steps[0]!, {inputTokens: 1_000_000}), 'usage'],
    ['another state', file => void Object.assign(file.passport, {status: 'running'}), 'passport'],
    ['another pin', file => void Object.assign(file.passport.pin as object, {version: '9'}), 'passport'],
    ['an event that is missing', file => void file.events.splice(3, 1), 'expected seq 4'],
    ['an event twice', file => void file.events.push(file.events[0]!), 'one id stands for two'],
    ['a message that was never shown', file => void Object.assign(file.events[1]!, {id: file.events[0]!.id}), 'shown'],
    ['a step that goes on from none', withoutNamedStep, 'goes on from'],
    ['an event that nobody can read', file => void Object.assign(file.events[2]!, {data: {}}), 'events: '],
    ['another run', file => void Object.assign(file, {run: 'run_01890000-0000-7000-8000-000000000000'}), 'not among'],
    ['no format', file => void Object.assign(file, {format: 'zip'}), 'format'],
  ]
  test.each(tampered)('[OBS-2] with %s does not hold together, and says where', async (_, tamper, fault) => {
    const {file} = await fromServer(runs[0]!)
    tamper(file)
    expect(checkRunExport(file).faults.join('; ')).toContain(fault)
  })

  test('[OBS-2] of nothing at all is told, not thrown', () => {
    for (const value of [null, 'text', {}, [], {events: [1]}]) {
      expect(checkRunExport(value).faults.length).toBeGreaterThan(0)
    }
  })

  test("[ID-4] is for nobody else: a stranger's run answers like one that does not exist", async () => {
    const stranger = await fromServer(runs[0]!, 'eve')
    const unknown = await fromServer('run_01890000-0000-7000-8000-000000000000' as RunId)
    expect(stranger).toEqual(unknown)
    expect(stranger.status).toBe(404)
  })

  test('[OBS-2] [RUN-6] of a branch holds what its model was shown of its ancestors', async () => {
    const head = (await scenes.log(scene)).length
    const branch = await scene.session.fork({after: head})
    await branch.send('And here?')
    const view = await until(branch, ({status, pending}) => status === 'completed' && pending === 0)
    const run = view.passport!.run
    const [{file}, own] = [await fromServer(run), await fromDevice(run)]
    for (const each of [file, own]) expect(checkRunExport(each).faults).toEqual([])
    expect(file.inherited.length).toBeGreaterThan(0)
    const ids = (events: RunExport['inherited']) => events.map(({id}) => id).sort()
    expect(ids(own.inherited)).toEqual(ids(file.inherited))
    file.inherited.pop()
    expect(checkRunExport(file).faults.join()).toContain('which is not here')
  })

  test('[OBS-2] [SYNC-5] of a device that is cut off holds what only the device has', async () => {
    const {device} = scene
    await device.service.setOnline(false)
    const cut = await device.sessions.openSession({agent: 'desk'})
    await cut.send('Is anybody there?')
    const run = (await until(cut, ({passport}) => passport !== null)).passport!.run
    const file = await fromDevice(run)
    expect(checkRunExport(file).faults).toEqual([])
    expect(file.events.map(({seq}) => seq)).toEqual(file.events.map(() => null))
    expect(file.passport.pending).toEqual(file.events.map(({id}) => id))
    expect((await fromServer(run)).status).toBe(404)
    await device.service.setOnline(true)
  })
})
