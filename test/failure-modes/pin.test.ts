import {describe, expect, test} from 'vitest'
import type {AgentHost} from '../../runtime/loop/define.ts'
import {defineAgent, defineTool} from '../../runtime/node.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {promptModel} from '../../runtime/testing.ts'
import {deskHost, Killer, until} from '../support/crashable-device.ts'
import {desk as deskAgent, lookupOrder, refundOrder, saveNote} from '../support/desk.ts'
import {deskScenes, kindsOf, ofKind} from '../support/desk-scenes.ts'
import {createGate} from '../support/gate.ts'

const desk = deskScenes()

const {instructions, tools, budgets} = deskAgent
const next = defineAgent({name: 'desk', version: '2.0.0', instructions: 'You are bolder now.', tools})
const reworded = defineAgent({name: 'desk', version: '1.0.0', instructions: `${instructions} Be bold.`, tools})
const swapped = defineAgent({
  name: 'desk',
  version: '1.0.0',
  instructions,
  tools: [lookupOrder, saveNote, defineTool({...refundOrder, version: '2'})],
})

const model = promptModel(prompt =>
  prompt.at(-1)?.role === 'tool'
    ? {text: `Refunded by: ${JSON.stringify(prompt[0]?.content)}`}
    : {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
)

const forVersion = (word: string) => (view: SessionView) => view.settled && !!view.waitingFor?.includes(word)

async function waitingScene() {
  const killer = new Killer(null)
  const scene = await desk.play(model, {killer})
  await scene.session.send('Refund A17.')
  await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
  const kill = async () => {
    expect(() => killer.kill()).toThrow('killed')
    await scene.device.close().catch(() => undefined)
    await killer.buried()
  }
  return {scene, kill}
}

describe('a run without a route or agent version', () => {
  test('[PIN-1] what it started with stands in its first event: agent, version, every tool by its hash, model, policy, budgets, memory, route and correlation', async () => {
    const {scene} = await waitingScene()
    const [started] = ofKind(await desk.log(scene), 'run.started')
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(started?.data.pin).toEqual({
      agent: 'desk',
      version: '1.0.0',
      tools: tools.map(({name, version, effect}) => ({name, version, effect, hash})),
      toolsHash: hash,
      instructionsHash: hash,
      model: {label: 'holdfast-testing/scripted'},
      policy: {name: 'default', busy: 'steer', approval: {}},
      budgets,
      memory: {name: 'none', maxItems: 0},
      route: {rule: 'newest-build', table: 'default/1'},
      correlation: expect.stringMatching(/^cor_/),
    })
    expect(new Set(started?.data.pin.tools.map(tool => tool.hash)).size).toBe(tools.length)
    await scene.device.close()
  })

  test('[PIN-1] a run is pinned to the correlation that its message brought, and the next one to its own', async () => {
    const scene = await desk.play(promptModel(() => ({text: 'Yes.'})))
    const correlation = env.id('correlation')
    await scene.session.send('For that ticket.', {correlation})
    await until(scene.session, view => view.status === 'completed')
    await scene.session.send('And for none.')
    await until(scene.session, view => view.status === 'completed' && view.entries.length === 4 && view.pending === 0)
    const [first, second] = ofKind(await desk.log(scene), 'run.started').map(({data}) => data.pin.correlation)
    expect(first).toBe(correlation)
    expect(second).toMatch(/^cor_/)
    expect(second).not.toBe(correlation)
    await scene.device.close()
  })
})

describe('a pin in memory only, or resolved again', () => {
  const builds: [string, AgentHost, string][] = [
    ['another version of the agent', deskHost(model, {agent: next}), 'version 1.0.0'],
    ['other instructions under the same version', deskHost(model, {agent: reworded}), 'other instructions'],
    ['another contract of a tool under the same version', deskHost(model, {agent: swapped}), 'refundOrder'],
  ]
  test.each(builds)(
    '[PIN-2] [PIN-3] a process with %s waits and says so; the pinned one goes on',
    async (_, host, word) => {
      const {scene, kill} = await waitingScene()
      await kill()
      const [item] = await desk.inbox(scene)
      await desk.decide(item!, 'approve')
      const other = await scene.open(model, {hosts: [host]})
      const held = await until(await other.session(scene.id), forVersion(word))
      expect(held.passport).toMatchObject({attempt: 1, pin: {version: '1.0.0'}, may: {resume: {legal: true}}})
      await other.close()
      const before = kindsOf(await desk.log(scene))

      const right = await scene.open(model)
      const view = await until(await right.session(scene.id), each => each.status === 'completed' && each.pending === 0)
      expect(view.entries.at(-1)).toMatchObject({type: 'reply', text: expect.stringContaining(instructions)})
      const after = await desk.log(scene)
      expect(kindsOf(after).slice(0, before.length)).toEqual(before)
      expect(before.filter(kind => kind === 'model.replied')).toHaveLength(1)
      expect(ofKind(after, 'run.started')).toHaveLength(1)
      await right.close()
    },
  )

  test('[PIN-2] a version that is published while a run is under way is not taken up by it, only by the next run', async () => {
    const gate = createGate()
    const slow = promptModel(prompt => ({text: JSON.stringify(prompt[0]?.content), until: gate.pass()}))
    const scene = await desk.play(slow)
    await scene.session.send('Hello.')
    await gate.reached(1)
    await scene.session.send('And another thing.')
    await scene.device.close()
    gate.open()

    const later = await scene.open(slow, {hosts: [deskHost(slow, {agent: next})]})
    const session = await later.session(scene.id)
    const held = await until(session, forVersion('version 1.0.0'))
    expect(held.passport?.pin.version).toBe('1.0.0')
    await session.cancel()
    await session.send('Start again.')
    const view = await until(session, each => each.status === 'completed' && each.pending === 0)
    expect(view.passport?.pin.version).toBe('2.0.0')
    expect(view.entries.at(-1)).toMatchObject({text: expect.stringContaining('bolder')})
    await later.close()
  })
})
