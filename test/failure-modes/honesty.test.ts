import type {LanguageModelV3, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import {describe, expect, test} from 'vitest'
import {promptModel} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'
import {deskScenes, ofKind} from '../support/desk-scenes.ts'
import {tablesWith} from '../support/scan-database.ts'

const desk = deskScenes()

/** Says its words, and then does not come to the end until it is let. */
function haltingModel(rest: Promise<void>): LanguageModelV3 {
  const model = promptModel(() => ({text: 'I have heard.'}))
  const halt = () =>
    new TransformStream<LanguageModelV3StreamPart, LanguageModelV3StreamPart>({
      transform: async (part, out) => {
        if (part.type === 'text-end') await rest
        out.enqueue(part)
      },
    })
  return {
    ...model,
    doStream: async options => ({stream: (await model.doStream(options)).stream.pipeThrough(halt())}),
  }
}

describe('durability that is only hoped for', () => {
  test('[SYNC-5] words are shown as volatile, on this device, with the server or refused, and each only when it is so', async () => {
    let finish: () => void = () => undefined
    const rest = new Promise<void>(resolve => {
      finish = resolve
    })
    const slow = haltingModel(rest)
    const scene = await desk.play(slow)
    await scene.device.service.setOnline(false)
    await scene.session.send('Are you there?')
    const offline = await until(scene.session, view => view.entries.length === 1 && view.status === 'running')
    expect(offline.entries[0]?.durability).toEqual({status: 'device'})
    const volatile = await until(scene.session, view => !!view.streaming?.text.includes('heard'))
    expect(volatile.entries.map(entry => entry.type)).toEqual(['message'])
    expect(await tablesWith(desk.db, 'heard')).toEqual([])
    finish()
    const replied = await until(scene.session, view => view.status === 'completed')
    expect(replied.entries.map(entry => entry.durability.status)).toEqual(['device', 'device'])
    expect(await tablesWith(desk.shop.db, 'Are you there?')).toEqual([])
    await scene.device.service.setOnline(true)
    const landed = await until(scene.session, view => view.pending === 0)
    const seqs = (await desk.log(scene)).map(event => event.seq)
    for (const {durability} of landed.entries) {
      expect(durability).toEqual({status: 'server', seq: expect.any(Number)})
      expect(seqs).toContain('seq' in durability ? durability.seq : 0)
    }
    await scene.device.close()
  })

  test('[SYNC-2] [SYNC-5] a message that the server refuses stays on its device as refused, with the reason', async () => {
    const waits = promptModel(() => ({calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]}))
    const scene = await desk.play(waits)
    await until(scene.session, view => view.pending === 0)
    const phone = await scene.open(waits, {db: await desk.database()})
    await new Promise<void>(resolve => {
      phone.sessions.subscribeSessions(list => list.some(({id}) => id === scene.id) && resolve())
    })
    const there = await phone.session(scene.id)
    await phone.service.setOnline(false)
    await there.send('Only if you are free.', {policy: 'reject'})
    await scene.session.send('Refund A17.')
    await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    await phone.service.setOnline(true)
    const view = await until(there, each => each.rejected === 1 && each.pending === 0)
    expect(
      view.entries.find(entry => entry.type === 'message' && entry.durability.status === 'rejected'),
    ).toMatchObject({
      text: 'Only if you are free.',
      durability: {reason: expect.stringContaining('waiting_for_approval')},
    })
    expect(ofKind(await desk.log(scene), 'message.posted')).toHaveLength(1)
    await Promise.all([phone.close(), scene.device.close()])
  })
})

describe('done taken for verified', () => {
  test('[OP-7] [FACT-1] a model that says it is done moves no money, ends no operation and changes no fact', async () => {
    const boaster = promptModel(() => ({text: 'I have refunded 89.00 for A17, receipt paid-1.'}))
    const scene = await desk.play(boaster)
    await scene.session.send('Refund A17.')
    const view = await until(scene.session, each => each.status === 'completed' && each.pending === 0)
    expect(view.entries.map(entry => entry.type)).toEqual(['message', 'reply'])
    expect(ofKind(await desk.log(scene), 'operation.executed')).toEqual([])
    expect(desk.shop.payments).toEqual([])
    await scene.device.close()
  })

  test('[OP-4] [APP-5] beside a claim of success the card still says what the server knows', async () => {
    const boaster = promptModel(prompt =>
      prompt.at(-1)?.role === 'tool'
        ? {text: 'Refunded!'}
        : {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
    )
    const scene = await desk.play(boaster)
    await scene.session.send('Refund A17.')
    await until(scene.session, view => view.status === 'waiting_for_approval')
    const [item] = await desk.inbox(scene)
    await desk.decide(item!, 'reject')
    const view = await until(scene.session, each => each.status === 'completed' && each.pending === 0)
    expect(view.entries.find(entry => entry.type === 'tool')).toMatchObject({
      result: {outcome: 'denied'},
      operation: {status: 'rejected', receipt: null, decidedBy: 'theo'},
    })
    expect(view.entries.at(-1)).toMatchObject({type: 'reply', text: 'Refunded!'})
    expect(desk.shop.payments).toEqual([])
    await scene.device.close()
  })
})
