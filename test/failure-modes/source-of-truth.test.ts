import {describe, expect, test} from 'vitest'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {promptModel} from '../../runtime/testing.ts'
import {Killer, until} from '../support/crashable-device.ts'
import {deskScenes} from '../support/desk-scenes.ts'
import {tablesWith} from '../support/scan-database.ts'

const desk = deskScenes()

const model = promptModel(prompt =>
  prompt.at(-1)?.role === 'tool'
    ? {text: 'Refunded.'}
    : {text: 'At once.', calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
)

/** A view as a careless page might treat it. */
function scribbleOver(view: SessionView): void {
  view.entries.length = 0
  Object.assign(view, {status: 'completed', custody: 'elsewhere'})
  Object.assign(view.passport ?? {}, {status: 'completed', operations: []})
  Object.assign(view.passport?.pin ?? {}, {version: '9.9.9', tools: []})
  Object.assign(view.passport?.pin.budgets ?? {}, {maxSteps: 1})
  Object.assign(view.passport?.custody ?? {}, {holder: null, epoch: 99})
}

describe("a worker's memory taken for the truth", () => {
  test('[RUN-8] what a page scribbles over and what dies with the worker is rebuilt from the store, and the run ends as it would have', async () => {
    const killer = new Killer(null)
    const scene = await desk.play(model, {killer})
    await scene.session.send('Refund A17.')
    const waiting = (view: SessionView) => view.status === 'waiting_for_approval' && view.pending === 0
    const before = structuredClone(await until(scene.session, waiting))
    scribbleOver(await until(scene.session, waiting))
    expect(await until(scene.session, waiting)).toEqual(before)
    expect(() => killer.kill()).toThrow('killed')
    await scene.device.close().catch(() => undefined)
    await killer.buried()

    const reopened = await scene.open(model)
    const session = await reopened.session(scene.id)
    expect(await until(session, view => waiting(view) && view.settled)).toEqual(before)
    const [item] = await desk.inbox(scene)
    await desk.decide(item!, 'approve')
    const after = await until(session, view => view.status === 'completed' && view.pending === 0)
    expect(after.entries.map(entry => entry.type)).toEqual(['message', 'reply', 'tool', 'reply'])
    expect(after.passport?.pin).toEqual(before.passport?.pin)
    expect(desk.shop.payments).toHaveLength(1)
    await reopened.close()
  })
})

describe('state that lives in a connection only', () => {
  test('[SYNC-3] [RUN-10] a live stream that is cut at every stage loses nothing, and half a reply is in no table', async () => {
    let say: () => void = () => undefined
    const rest = new Promise<void>(resolve => {
      say = resolve
    })
    const slow = promptModel(prompt =>
      prompt.at(-1)?.role === 'tool'
        ? {text: 'Halfway said and then whole.', until: rest}
        : {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
    )
    const scene = await desk.play(slow)
    const {service} = scene.device
    const paidBefore = desk.shop.payments.length
    await service.setOnline(false)
    await scene.session.send('Refund A17.')
    await until(scene.session, view => view.status === 'waiting_for_tool' && view.pending > 0)
    await service.setOnline(true)
    await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    // Decided and carried out while nobody listens.
    await service.setOnline(false)
    const [item] = await desk.inbox(scene)
    await desk.decide(item!, 'approve')
    await desk.shop.server.idle()
    expect(desk.shop.payments.length).toBe(paidBefore + 1)
    await service.setOnline(true)
    await until(scene.session, view => view.status === 'running' && view.pending === 0)
    await service.setOnline(false)
    expect(await tablesWith(desk.db, 'Halfway said')).toEqual([])
    say()
    await until(scene.session, view => view.status === 'completed')
    await service.setOnline(true)
    const view = await until(scene.session, each => each.pending === 0 && each.status === 'completed')
    expect(view.entries.map(entry => entry.type)).toEqual(['message', 'tool', 'reply'])
    expect(view.entries.every(entry => entry.durability.status === 'server')).toBe(true)
    expect(desk.shop.payments.length).toBe(paidBefore + 1)
    await scene.device.close()
  })
})
