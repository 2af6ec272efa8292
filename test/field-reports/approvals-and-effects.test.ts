import type {LanguageModelV3Prompt} from '@ai-sdk/provider'
import {describe, expect, test} from 'vitest'
import {promptModel, said} from '../../runtime/testing.ts'
import {deskHost, Killer, until} from '../support/crashable-device.ts'
import {deskTools} from '../support/desk.ts'
import {deskScenes, ofKind, type Scene} from '../support/desk-scenes.ts'
import {createGate} from '../support/gate.ts'

const desk = deskScenes()

const refund = (cents: number) => ({tool: 'refundOrder', input: {orderId: 'A17', cents}})
const centsOf = (item: {shown: {input: unknown}}) => (item.shown.input as {cents: number}).cents

/** How often each provider call id is answered in a prompt. */
function resultsIn(prompt: LanguageModelV3Prompt): string[] {
  return prompt.flatMap(message =>
    message.role === 'tool' ? message.content.flatMap(part => ('toolCallId' in part ? [part.toolCallId] : [])) : [],
  )
}

async function outcomes(scene: Scene): Promise<(readonly [number, string])[]> {
  const view = await until(scene.session, each => each.status === 'completed' && each.pending === 0)
  return view.entries.flatMap(entry =>
    entry.type === 'tool' ? [[(entry.input as {cents: number}).cents, entry.result?.outcome ?? 'none'] as const] : [],
  )
}

describe('approvals', () => {
  test('[APP-5] [LOG-7] a second approval in the same run sends the first result once more to nobody', async () => {
    const prompts: LanguageModelV3Prompt[] = []
    const model = promptModel(prompt => {
      prompts.push(prompt)
      const answered = resultsIn(prompt).length
      return answered < 2 ? {calls: [{...refund(8000 + answered), id: `call-${answered}`}]} : {text: 'Both are done.'}
    })
    const scene = await desk.play(model)
    await scene.session.send('Refund A17 in two parts.')
    for (const cents of [8000, 8001]) {
      await until(
        scene.session,
        view =>
          view.passport?.operations[0]?.approval !== undefined &&
          view.passport.checkpoint.steps === cents - 7999 &&
          view.status === 'waiting_for_approval',
      )
      const [item] = await desk.inbox(scene)
      expect(centsOf(item!)).toBe(cents)
      await desk.decide(item!, 'approve')
    }
    expect(await outcomes(scene)).toEqual([
      [8000, 'ok'],
      [8001, 'ok'],
    ])
    const shown = prompts.map(resultsIn)
    expect(shown.map(ids => new Set(ids).size)).toEqual([0, 1, 2])
    expect(shown[2]?.slice(0, 1)).toEqual(shown[1])
    expect(ofKind(await desk.log(scene), 'run.started')).toHaveLength(1)
    await scene.device.close()
  })

  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ]
  test.each(orders.map(order => ({order})))(
    '[APP-5] answers given in the order $order reach their own calls',
    async ({order}) => {
      const verdicts = ['approve', 'reject', 'approve'] as const
      const model = promptModel(prompt =>
        prompt.at(-1)?.role === 'tool' ? {text: 'Done.'} : {calls: [refund(8100), refund(8200), refund(8300)]},
      )
      const scene = await desk.play(model)
      await scene.session.send('Three parts.')
      await until(scene.session, view => view.passport?.operations.filter(each => each.approval).length === 3)
      const items = (await desk.inbox(scene)).sort((a, b) => centsOf(a) - centsOf(b))
      for (const which of order) await desk.decide(items[which]!, verdicts[which]!)
      expect(await outcomes(scene)).toEqual([
        [8100, 'ok'],
        [8200, 'denied'],
        [8300, 'ok'],
      ])
      const paid = desk.shop.payments.filter(({operation}) => items.some(item => item.operation === operation))
      expect(paid.map(({cents}) => cents).sort()).toEqual([8100, 8300])
      await scene.device.close()
    },
  )

  test('[APP-6] [CUS-3] an approval outlives the device, the server and the token it was asked under: the next holder goes on with it', async () => {
    const model = promptModel(prompt => (prompt.at(-1)?.role === 'tool' ? {text: 'Done.'} : {calls: [refund(8400)]}))
    const scene = await desk.play(model)
    await scene.session.send('Refund A17.')
    await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    await scene.device.close()
    await desk.shop.restart()
    const phone = await scene.open(model, {db: await desk.database()})
    await new Promise<void>(resolve => {
      phone.sessions.subscribeSessions(list => list.some(({id}) => id === scene.id) && resolve())
    })
    const session = await phone.session(scene.id)
    await session.takeOver()
    await until(session, view => view.custody === 'here' && view.status === 'waiting_for_approval')
    const [item] = await desk.inbox(scene)
    await desk.decide(item!, 'approve')
    expect(await outcomes({...scene, session})).toEqual([[8400, 'ok']])
    expect(desk.shop.payments.filter(({operation}) => operation === item?.operation)).toHaveLength(1)
    await phone.close()
  })

  test('[APP-5] what was declined runs in no later process, and asking again needs another yes', async () => {
    const model = promptModel(prompt => {
      if (resultsIn(prompt).length === 0) return {calls: [refund(8500)]}
      return said(prompt).length === 2 && resultsIn(prompt).length === 1
        ? {calls: [refund(8500)]}
        : {text: 'As you wish.'}
    })
    const scene = await desk.play(model)
    await scene.session.send('Refund A17.')
    await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    const [item] = await desk.inbox(scene)
    await desk.decide(item!, 'reject')
    await until(scene.session, view => view.status === 'completed' && view.pending === 0)
    await scene.device.close()
    await desk.shop.restart()
    await desk.shop.server.idle()
    const reopened = await scene.open(model)
    const session = await reopened.session(scene.id)
    await session.send('Do it all the same.')
    await until(session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    const [again] = await desk.inbox(scene)
    expect(again?.operation).not.toBe(item?.operation)
    await expect(desk.decide(item!, 'approve')).rejects.toMatchObject({details: {status: 'rejected'}})
    expect(desk.shop.payments.filter(({cents}) => cents === 8500)).toEqual([])
    await reopened.close()
  })
})

describe('effects', () => {
  test('[RUN-5] a call that returned is not run again because its sibling was cut off', async () => {
    const runs: string[] = []
    const gate = createGate()
    const lookupOrder = async ({orderId}: {orderId: string}) => {
      runs.push(orderId)
      if (orderId === 'SLOW') await gate.pass()
      return {orderId}
    }
    const model = promptModel(prompt =>
      prompt.at(-1)?.role === 'tool'
        ? {text: 'Looked at all.'}
        : {calls: ['A17', 'SLOW', 'B22'].map(orderId => ({tool: 'lookupOrder', input: {orderId}}))},
    )
    const killer = new Killer(null)
    const hosts = [deskHost(model, {tools: {...deskTools, lookupOrder}})]
    const scene = await desk.play(model, {killer, hosts})
    await scene.session.send('Look at three orders.')
    await until(scene.session, view => view.entries.filter(each => each.type === 'tool' && each.result).length === 2)
    expect(() => killer.kill()).toThrow('killed')
    await scene.device.close().catch(() => undefined)
    await killer.buried()
    gate.open()
    const reopened = await scene.open(model, {hosts})
    const session = await reopened.session(scene.id)
    await until(session, view => view.status === 'completed' && view.pending === 0)
    expect(runs.toSorted()).toEqual(['A17', 'B22', 'SLOW', 'SLOW'])
    await reopened.close()
  })
})
