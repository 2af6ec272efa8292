import {describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/node.ts'
import type {Budgets} from '../../runtime/protocol/pin.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {promptModel} from '../../runtime/testing.ts'
import {deskHost, Killer, until} from '../support/crashable-device.ts'
import {desk as deskAgent, deskTools, lookupOrder, refundOrder, saveNote} from '../support/desk.ts'
import {deskScenes, kindsOf, ofKind, type Scene} from '../support/desk-scenes.ts'

const desk = deskScenes()
const done = (view: SessionView) => view.status === 'completed' && view.pending === 0
const never = new Promise<never>(() => undefined)

function agentWith(budgets: Partial<Budgets>) {
  return defineAgent({...deskAgent, budgets})
}

const lookThenSay = promptModel(prompt =>
  prompt.at(-1)?.role === 'tool' ? {text: 'Seen.'} : {calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}]},
)

async function reopened(scene: Scene, killer: Killer) {
  expect(() => killer.kill()).toThrow('killed')
  await scene.device.close().catch(() => undefined)
  await killer.buried()
}

describe('a run that sleeps', () => {
  const later = 4_000_000_000_000
  const tools = {
    ...deskTools,
    lookupOrder: (_: object, {sleepUntil}: {sleepUntil(until: number, why?: string): void}) => {
      sleepUntil(later, 'The parcel is on its way.')
      return {seen: true}
    },
  }

  test('[RUN-1] [RUN-8] it sleeps through a reload, says until when, and a wake from outside sets it going', async () => {
    const killer = new Killer(null)
    const scene = await desk.play(lookThenSay, {hosts: [deskHost(lookThenSay, {tools})], killer})
    await scene.session.send('Wait for the parcel.')
    await until(scene.session, view => view.status === 'waiting_for_wake' && view.pending === 0)
    await reopened(scene, killer)
    const device = await scene.open(lookThenSay, {hosts: [deskHost(lookThenSay, {tools})]})
    const session = await device.session(scene.id)
    const view = await until(session, each => each.settled && each.waitingFor !== null)
    expect(view).toMatchObject({status: 'waiting_for_wake', waitingFor: 'The parcel is on its way.'})
    expect(view.passport).toMatchObject({wakesAt: later, may: {resume: {legal: true}}})
    const wake = async (run: string) => {
      const headers = {authorization: `Bearer ${await desk.shop.token(scene.subject)}`, 'holdfast-protocol': '1'}
      const request = new Request(`http://desk.test/v1/runs/${run}/wake`, {
        method: 'POST',
        headers,
        body: '{"note":"here"}',
      })
      return await desk.shop.server.fetch(request)
    }
    expect((await wake(view.passport!.run)).status).toBe(200)
    await until(session, done)
    const log = await desk.log(scene)
    expect(ofKind(log, 'run.woken').map(({data, device: by}) => [data, by])).toEqual([
      [{by: 'outside', note: 'here'}, null],
    ])
    const late = await wake(view.passport!.run)
    expect(late.status).toBe(409)
    expect(JSON.stringify(await late.json())).toContain('control plane')
    await device.close()
  })

  test('[RUN-1] a message wakes it, and it goes on with that', async () => {
    const scene = await desk.play(lookThenSay, {hosts: [deskHost(lookThenSay, {tools})]})
    await scene.session.send('Wait for the parcel.')
    await until(scene.session, view => view.status === 'waiting_for_wake')
    await scene.session.send('It is here already.')
    await until(
      scene.session,
      view => view.status === 'waiting_for_wake' && view.entries.some(({type}) => type === 'notice'),
    )
    await scene.session.cancel()
    await until(scene.session, view => view.status === 'cancelled' && view.pending === 0)
    expect(ofKind(await desk.log(scene), 'run.woken').map(({data}) => data.by)).toEqual(['message'])
    await scene.device.close()
  })

  test('[RUN-1] a provider that says when to come back is left alone until then, and the run does not fail', async () => {
    let asked = 0
    const busy = promptModel(() => {
      asked += 1
      const error = Object.assign(new Error('too many requests'), {
        isRetryable: true,
        responseHeaders: {'retry-after-ms': '1'},
      })
      return asked === 1 ? {error} : {text: 'Now.'}
    })
    const scene = await desk.play(busy)
    await scene.session.send('Hello.')
    await until(scene.session, done)
    const log = await desk.log(scene)
    expect(ofKind(log, 'run.slept').map(({data}) => data)).toMatchObject([
      {cause: 'provider', why: expect.stringContaining('too many requests')},
    ])
    expect(kindsOf(log)).not.toContain('run.failed')
    expect(ofKind(log, 'step.prepared')).toHaveLength(1)
    await scene.device.close()
  })
})

describe('a run at its bound', () => {
  test('[BUD-2] it is stopped and a person asked; with one more budget it goes on where it stopped', async () => {
    const agent = agentWith({maxTokens: 15, onBound: 'escalate'})
    const scene = await desk.play(lookThenSay, {hosts: [deskHost(lookThenSay, {agent})]})
    await scene.session.send('Look.')
    const alerted = await until(scene.session, view => view.status === 'alerted' && view.pending === 0)
    expect(alerted.passport).toMatchObject({
      usage: {steps: 1, calls: 1, inputTokens: 10, outputTokens: 5},
      may: {extend: {legal: true}, cancel: {legal: true}, resume: {legal: false}},
      checkpoint: {openCalls: [{tool: 'lookupOrder'}]},
    })
    await scene.session.extend()
    await until(scene.session, done)
    const log = await desk.log(scene)
    expect(ofKind(log, 'run.alerted').map(({data}) => data.bound)).toEqual(['15 tokens'])
    expect(ofKind(log, 'run.started')).toHaveLength(1)
    expect(ofKind(log, 'run.completed')[0]?.data).toMatchObject({
      outcome: 'finished',
      usage: {steps: 2, inputTokens: 20},
    })
    await scene.device.close()
  })

  test('[BUD-1] a model call that outlasts the time of the run is given up, and the run ends with what it has', async () => {
    const stuck = promptModel(() => ({text: 'Too late.', until: never}))
    const scene = await desk.play(stuck, {hosts: [deskHost(stuck, {agent: agentWith({wallMs: 200})})]})
    await scene.session.send('Hello.')
    await until(scene.session, done)
    expect(ofKind(await desk.log(scene), 'run.completed')[0]?.data).toMatchObject({
      outcome: 'partial',
      bound: '0.2 s of work',
    })
    await scene.device.close()
  })

  test('[BUD-1] the cost follows from the pinned prices, and settings are sent with each call', async () => {
    const sent: unknown[] = []
    const counting = {
      ...lookThenSay,
      doStream: async (options: Parameters<typeof lookThenSay.doStream>[0]) => {
        sent.push(options.temperature)
        return await lookThenSay.doStream(options)
      },
    }
    const prices = {currency: 'EUR', inputPerMillion: 1_000_000, outputPerMillion: 2_000_000}
    const modelProfiles = {'holdfast-testing/scripted': {prices, settings: {temperature: 0.5}}}
    const host = {...deskHost(counting, {agent: agentWith({maxCost: 20})}), modelProfiles}
    const scene = await desk.play(counting, {hosts: [host]})
    await scene.session.send('Look.')
    const view = await until(scene.session, done)
    expect(ofKind(await desk.log(scene), 'run.completed')[0]?.data).toMatchObject({
      bound: 'a cost of 20 EUR',
      usage: {cost: 20},
    })
    expect(view.passport?.pin.model).toEqual({label: 'holdfast-testing/scripted', prices, settings: {temperature: 0.5}})
    expect(sent).toEqual([0.5])
    await scene.device.close()
  })
})

describe('a run whose version or model is not here', () => {
  const refunding = promptModel(prompt =>
    prompt.at(-1)?.role === 'tool'
      ? {text: JSON.stringify(prompt[0]?.content)}
      : {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
  )

  async function waiting() {
    const killer = new Killer(null)
    const scene = await desk.play(refunding, {killer})
    await scene.session.send('Refund A17.')
    await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    await reopened(scene, killer)
    const [item] = await desk.inbox(scene)
    return {scene, item: item!}
  }

  test('[PIN-3] it waits for a build with its model instead of failing, and goes on by itself in one that has it', async () => {
    const {scene, item} = await waiting()
    const other = {...refunding, modelId: 'other'}
    const without = await scene.open(other)
    await desk.decide(item, 'approve')
    const held = await until(await without.session(scene.id), view => !!view.waitingFor?.includes('other'))
    expect(held.passport).toMatchObject({status: 'running', attempt: 1})
    expect(held.waitingFor).toContain('holdfast-testing/scripted')
    await without.close()
    const device = await scene.open(refunding)
    await until(await device.session(scene.id), done)
    expect(kindsOf(await desk.log(scene))).not.toContain('run.failed')
    await device.close()
  })

  const instructions = 'You work by the new rules.'
  const strict = defineTool({
    ...refundOrder,
    version: '2',
    input: z.strictObject({orderId: z.string(), cents: z.int().positive().max(100)}),
  })
  const wide = defineTool({...refundOrder, version: '2', description: 'Refund one order, by the new rules.'})
  const refused: [string, Parameters<typeof defineAgent>[0], string][] = [
    [
      'an input that is not valid there',
      {name: 'desk', version: '2.0.0', instructions, tools: [lookupOrder, strict]},
      'cents',
    ],
    ['no such tool', {name: 'desk', version: '2.0.0', instructions, tools: [lookupOrder, saveNote]}, 'refundOrder'],
  ]
  test.each(refused)('[PIN-3] it is not moved to a version with %s, and says what fails', async (_, agent, named) => {
    const {scene} = await waiting()
    const device = await scene.open(refunding, {hosts: [deskHost(refunding, {agent: defineAgent(agent)})]})
    const session = await device.session(scene.id)
    await expect(session.migrate({version: '2.0.0'})).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining(named),
    })
    await expect(session.migrate({version: '3.0.0'})).rejects.toMatchObject({code: 'not_found'})
    expect((await session.passport())?.pin.version).toBe('1.0.0')
    await device.close()
  })

  test('[PIN-3] [OP-2] a person moves it; the operation keeps its digest and its money is paid once, the next step is the new version', async () => {
    const {scene, item} = await waiting()
    const agent = defineAgent({name: 'desk', version: '2.0.0', instructions, tools: [lookupOrder, wide]})
    const device = await scene.open(refunding, {hosts: [deskHost(refunding, {agent})]})
    const session = await device.session(scene.id)
    await until(session, view => !!view.waitingFor?.includes('version 1.0.0'))
    await session.migrate({version: '2.0.0', reason: 'The old build is gone.'})
    await until(session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    expect((await desk.inbox(scene)).map(({digest}) => digest)).toEqual([item.digest])
    await desk.decide(item, 'approve')
    const view = await until(session, done)
    expect(view.entries.at(-1)).toMatchObject({type: 'reply', text: expect.stringContaining('new rules')})
    expect(view.passport?.pin).toMatchObject({version: '2.0.0', agent: 'desk'})
    expect(desk.shop.payments.filter(({operation}) => operation === item.operation)).toHaveLength(1)
    await device.close()
  })
})

test('[RUN-1] [RUN-4] a closed session voids what waits, and takes neither message nor run', async () => {
  const refunding = promptModel(() => ({calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]}))
  const scene = await desk.play(refunding)
  await scene.session.send('Refund A17.')
  await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
  const [item] = await desk.inbox(scene)
  await scene.session.close('The customer is gone.')
  const view = await until(scene.session, each => each.status === 'closed' && each.pending === 0)
  expect(view.passport?.may).toMatchObject({correct: {legal: false}, cancel: {legal: false}, fork: {legal: true}})
  await expect(scene.session.send('Hello?')).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('closed'),
  })
  await expect(desk.decide(item!, 'approve')).rejects.toMatchObject({code: 'refused'})
  expect(kindsOf(await desk.log(scene)).slice(-2)).toEqual(['session.closed', 'operation.voided'])
  await scene.device.close()
})
