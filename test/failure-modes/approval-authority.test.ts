import {expect, test} from 'vitest'
import {promptModel} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'
import {deskScenes} from '../support/desk-scenes.ts'

const desk = deskScenes()

const two = promptModel(prompt =>
  prompt.at(-1)?.role === 'tool'
    ? {text: 'Done.'}
    : {
        calls: [
          {tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}},
          {tool: 'refundOrder', input: {orderId: 'A17', cents: 8800}},
        ],
      },
)

test('[APP-1] [APP-2] an approval of one operation lends nothing to another, nor to a second use of itself', async () => {
  const scene = await desk.play(two)
  await scene.session.send('Refund A17, twice.')
  await until(scene.session, view => view.passport?.operations.filter(each => each.approval).length === 2)
  const items = await desk.inbox(scene)
  const large = items.find(item => JSON.stringify(item.shown.input).includes('8900'))!
  const small = items.find(item => item !== large)!
  expect(large.digest).not.toBe(small.digest)

  // The digest of one does not open the other.
  await expect(desk.decide(small, 'approve', large.digest)).rejects.toMatchObject({code: 'conflict'})
  expect(desk.shop.payments).toEqual([])
  await desk.decide(large, 'approve')
  await until(scene.session, view => view.passport?.operations.length === 1)
  expect(desk.shop.payments).toMatchObject([{operation: large.operation, cents: 8900}])
  // Used up: the same yes again changes nothing, a no is refused, and the other still waits for its own.
  await desk.decide(large, 'approve')
  await expect(desk.decide(large, 'reject')).rejects.toMatchObject({code: 'refused', details: {status: 'granted'}})
  expect((await desk.inbox(scene)).map(item => item.operation)).toEqual([small.operation])
  await desk.decide(small, 'reject')
  const view = await until(scene.session, each => each.status === 'completed' && each.pending === 0)
  expect(view.entries.flatMap(entry => (entry.type === 'tool' ? [entry.result?.outcome] : []))).toEqual([
    'ok',
    'denied',
  ])
  expect(desk.shop.payments).toHaveLength(1)
  await scene.device.close()
})
