import {expect, test} from 'vitest'
import {defineAgent} from '../../runtime/node.ts'
import {promptModel} from '../../runtime/testing.ts'
import {deskHost, until} from '../support/crashable-device.ts'
import {desk as deskAgent} from '../support/desk.ts'
import {deskScenes, ofKind} from '../support/desk-scenes.ts'

const desk = deskScenes()

test('[BUD-1] [BUD-2] a model that never stops calling tools is stopped by the loop at the pinned bound, with what it has used', async () => {
  let asked = 0
  const endless = promptModel(() => {
    asked += 1
    return {text: 'Once more.', calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}]}
  })
  const agent = defineAgent({
    name: 'desk',
    version: '1.0.0',
    instructions: 'Never stop.',
    tools: deskAgent.tools,
    budgets: {maxSteps: 4},
  })
  const scene = await desk.play(endless, {hosts: [deskHost(endless, {agent})]})
  await scene.session.send('Look until you drop.')
  const view = await until(scene.session, each => each.status === 'completed' && each.pending === 0)
  expect(asked).toBe(4)
  expect(view.entries.at(-1)).toMatchObject({
    type: 'notice',
    about: 'stopped_at_bound',
    text: expect.stringContaining('4 steps'),
  })
  const log = await desk.log(scene)
  expect(ofKind(log, 'run.completed').map(({data}) => data)).toEqual([
    {outcome: 'partial', bound: '4 steps', usage: {...view.passport?.usage, wallMs: expect.any(Number)}},
  ])
  expect(view.passport?.usage).toMatchObject({steps: 4, calls: 4, inputTokens: 40, outputTokens: 20, cost: null})
  const usage = ofKind(log, 'model.replied').map(({data}) => data.usage)
  expect(usage).toEqual(Array.from({length: 4}, () => ({inputTokens: 10, outputTokens: 5})))
  expect(view.passport?.checkpoint).toMatchObject({steps: 4, openCalls: []})
  await scene.device.close()
})
