import {describe, expect, test} from 'vitest'
import type {Router} from '../../runtime/loop/route.ts'
import {defineAgent} from '../../runtime/node.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {promptModel} from '../../runtime/testing.ts'
import {deskHost, Killer, until} from '../support/crashable-device.ts'
import {desk as deskAgent} from '../support/desk.ts'
import {deskScenes, ofKind, type Scene} from '../support/desk-scenes.ts'
import {createGate} from '../support/gate.ts'
import {pinnedTool} from '../support/pin.ts'

const desk = deskScenes()
const {tools} = deskAgent
const older = defineAgent({name: 'desk', version: '1.9.0', instructions: 'I am the older one.', tools})
const newer = defineAgent({name: 'desk', version: '1.10.0', instructions: 'I am the newer one.', tools})
const model = promptModel(prompt => ({text: JSON.stringify(prompt[0]?.content)}))
const both = [deskHost(model, {agent: older}), deskHost(model, {agent: newer})]

const done = (view: SessionView) => view.status === 'completed' && view.pending === 0

async function publisher() {
  const token = await desk.shop.token('pia', ['publisher'])
  return async (path: string, body: object) => {
    const request = new Request(`http://desk.test/v1/agents/desk/${path}`, {
      method: 'POST',
      headers: {authorization: `Bearer ${token}`, 'holdfast-protocol': '1', 'content-type': 'application/json'},
      body: JSON.stringify(body),
    })
    const answer = await desk.shop.server.fetch(request)
    expect(answer.status).toBe(200)
  }
}

async function makeActive(version: string): Promise<void> {
  const post = await publisher()
  const manifest = {version, tools: [pinnedTool('lookupOrder', 'read')], toolsHash: 'a'.repeat(64)}
  await post('versions', manifest)
  await post('active', {version})
}

/** The device has heard of it: its replica is read by the next run. */
async function heard(version: string): Promise<void> {
  for (;;) {
    const {rows} = await desk.db.query<{body: string}>('select body from holdfast_agents')
    if (rows.some(row => JSON.parse(row.body).some((agent: {active: string}) => agent.active === version))) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

async function pins(scene: Scene) {
  return ofKind(await desk.log(scene), 'run.started').map(({data}) => data.pin)
}

async function answered(scene: Scene, runs: number): Promise<void> {
  await until(scene.session, view => done(view) && view.entries.filter(entry => entry.type === 'reply').length === runs)
}

describe('the version of a run that starts', () => {
  test('[PIN-2] without anything active it is the newest build, by numbers and not by letters', async () => {
    const scene = await desk.play(model, {hosts: both})
    await scene.session.send('Hello.')
    await answered(scene, 1)
    expect(await pins(scene)).toMatchObject([{version: '1.10.0', route: {rule: 'newest-build', table: 'default/1'}}])
    await scene.device.close()
  })

  test('[PIN-2] the active version moves in the middle of a run, while it is asked, approved, reloaded: it stays, the next run moves', async () => {
    await makeActive('1.9.0')
    const gate = createGate()
    const slow = promptModel(prompt => {
      const words = JSON.stringify(prompt[0]?.content)
      if (prompt.at(-1)?.role === 'tool') return {text: words}
      return {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}], until: gate.pass()}
    })
    const hosts = [deskHost(slow, {agent: older}), deskHost(slow, {agent: newer})]
    const killer = new Killer(null)
    const scene = await desk.play(slow, {hosts, killer})
    await heard('1.9.0')
    await scene.session.send('Refund A17.')
    await gate.reached(1)
    await makeActive('1.10.0')
    await heard('1.10.0')
    gate.open()
    await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    await makeActive('1.9.0')
    await makeActive('1.10.0')
    expect(() => killer.kill()).toThrow('killed')
    await scene.device.close().catch(() => undefined)
    await killer.buried()

    const elsewhere = await scene.open(slow, {hosts: [...hosts].reverse(), db: await desk.database()})
    const arrives = () => elsewhere.session(scene.id).catch(() => null)
    await expect.poll(arrives).not.toBeNull()
    const session = await elsewhere.session(scene.id)
    await session.takeOver()
    const [item] = await desk.inbox(scene)
    await desk.decide(item!, 'approve')
    await until(session, done)
    expect(await pins(scene)).toMatchObject([{version: '1.9.0', route: {rule: 'active-version'}}])
    await session.send('And once more.')
    await until(session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    expect(await pins(scene)).toMatchObject([{version: '1.9.0'}, {version: '1.10.0', route: {rule: 'active-version'}}])
    await elsewhere.close()
  })

  test('[PIN-2] [FACT-2] offline the copy is used and its age stands in the pin', async () => {
    await makeActive('1.9.0')
    const scene = await desk.play(model, {hosts: both})
    await heard('1.9.0')
    await scene.device.sessions.setOnline(false)
    await scene.session.send('Hello.')
    const view = await until(scene.session, each => each.status === 'completed')
    expect(view.passport?.pin).toMatchObject({
      version: '1.9.0',
      route: {rule: 'active-version', registryAgeMs: expect.any(Number)},
    })
    await scene.device.sessions.setOnline(true)
    await scene.device.close()
  })
})

describe('a router of the host', () => {
  test('[PIN-2] is asked once a run; when its record has changed meanwhile, a run under way does not hear of it', async () => {
    const table = {version: '1.9.0'}
    const asked: Parameters<Router>[0][] = []
    const router: Router = request => {
      asked.push(request)
      return {agent: 'desk', version: table.version, route: {rule: 'by-hand', table: 'mine/7'}}
    }
    const gate = createGate()
    const slow = promptModel(() => ({text: 'Yes.', until: gate.pass()}))
    const hosts = [deskHost(slow, {agent: older}), deskHost(slow, {agent: newer})]
    const scene = await desk.play(slow, {hosts, router})
    await scene.session.send('First.')
    await gate.reached(1)
    table.version = '1.10.0'
    await scene.session.send('While it works.')
    gate.open()
    await until(scene.session, done)
    expect(await pins(scene)).toMatchObject([{version: '1.9.0', route: {rule: 'by-hand', table: 'mine/7'}}])
    expect(asked).toMatchObject([{agent: 'desk', message: 'First.'}])
    expect(asked[0]?.candidates.map(({version}) => version)).toEqual(['1.10.0', '1.9.0'])
    await scene.device.close()
  })

  const wrong: [string, unknown, string][] = [
    ['names an agent that is not here', {agent: 'other', version: '1.9.0', route: {rule: 'r', table: 't'}}, '"other"'],
    ['names a version that is not here', {agent: 'desk', version: '7', route: {rule: 'r', table: 't'}}, 'version 7'],
    ['names no rule', {agent: 'desk', version: '1.9.0'}, 'no answer of agent, version and route'],
    ['throws', new Error('the table is gone'), 'the table is gone'],
  ]
  test.each(wrong)(
    '[PIN-1] that %s is refused by name; nothing starts, and the message waits',
    async (_, answer, why) => {
      let told: unknown = answer
      const router = (() => {
        if (told instanceof Error) throw told
        return told
      }) as Router
      const scene = await desk.play(model, {hosts: both, router})
      await scene.session.send('Hello.')
      const view = await until(scene.session, each => each.settled && each.waitingFor !== null && each.pending === 0)
      expect(view).toMatchObject({
        status: 'idle',
        passport: null,
        storageFault: null,
        waitingFor: expect.stringContaining(why),
      })
      expect(await pins(scene)).toEqual([])
      told = {agent: 'desk', version: '1.9.0', route: {rule: 'r', table: 't'}}
      await scene.session.send('Again.')
      await until(scene.session, done)
      expect(await pins(scene)).toHaveLength(1)
      await scene.device.close()
    },
  )
})
