import {afterAll, beforeAll, expect, test} from 'vitest'
import type {ToolContext} from '../../runtime/loop/define.ts'
import {isAtRest} from '../../runtime/protocol/at-rest.ts'
import {until} from '../support/crashable-device.ts'
import {deskTools, openTestServer, type TestServer} from '../support/desk.ts'
import {type Desk, openDesk} from '../support/two-devices.ts'

let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(() => shop.close())

type Steps = Parameters<typeof openDesk>[2]

/** The first device has answered one message; the second has the session, and its first device may be closed. */
async function pair(
  subject: string,
  first: Steps,
  second: Steps,
  ended: 'completed' | 'failed_retryable' = 'completed',
) {
  const a = await openDesk(shop, subject, first)
  await a.session.send('Hello?')
  await until(a.session, view => view.settled && view.status === ended && view.pending === 0)
  const b = await openDesk(shop, subject, second, a)
  await until(b.session, view => view.status === ended && view.custody === 'elsewhere')
  return {a, b}
}

const said = (desk: Desk, text: string) =>
  until(desk.session, view => view.settled && view.entries.some(entry => entry.type === 'reply' && entry.text === text))

test('[CUS-3] the next message is answered where it is posted when the holder has finished and is closed', async () => {
  const {a, b} = await pair('ann', [{text: 'First.'}], [{text: 'Second.'}, {text: 'Third.'}])
  await a.runtime.close()
  await b.session.send('And now?')
  const view = await said(b, 'Second.')
  expect(view).toMatchObject({status: 'completed', custody: 'here', rejected: 0})
  await b.session.send('Again?')
  expect((await said(b, 'Third.')).passport?.custody.epoch).toBe(2)
  await b.runtime.close()
})

test('[CUS-4] it is so without the server, too, and the server takes it afterwards', async () => {
  const {a, b} = await pair('bob', [{text: 'First.'}], [{text: 'Second.'}])
  await a.runtime.close()
  await b.online(false)
  await b.session.send('And now?')
  expect(await said(b, 'Second.')).toMatchObject({custody: 'here', status: 'completed'})
  await b.online(true)
  const view = await until(b.session, ({pending}) => pending === 0)
  expect(view).toMatchObject({custody: 'here', rejected: 0, divergence: null})
  await b.runtime.close()
})

test('[CUS-3] a holder that works keeps others out, and takes the message into its run', async () => {
  let go = () => {}
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  const a = await openDesk(shop, 'cid', [{text: 'First.', until: gate}, {text: 'Both.'}])
  await a.session.send('Hello?')
  await until(a.session, view => view.pending === 0 && view.passport?.checkpoint.steps === 1)
  const b = await openDesk(shop, 'cid', [], a)
  await until(b.session, view => view.custody === 'elsewhere' && view.status === 'running')
  await b.session.send('One more thing.')
  const waiting = await until(b.session, view => view.settled && view.pending === 0)
  expect(waiting).toMatchObject({custody: 'elsewhere', waitingFor: expect.stringContaining('Another device')})
  await until(a.session, view =>
    view.entries.some(entry => entry.type === 'message' && entry.text === 'One more thing.'),
  )
  go()
  await said(b, 'Both.')
  expect((await a.session.passport())?.custody.epoch).toBe(1)
  await a.runtime.close()
  await b.runtime.close()
})

test('[CUS-3] a failed run is retried on the device where that is asked for', async () => {
  const failing = [0, 1, 2, 3, 4].map(() => ({error: new Error('the model is away')}))
  const {a, b} = await pair('dot', failing, [{text: 'Retried.'}], 'failed_retryable')
  await a.runtime.close()
  await b.session.retry()
  expect(await said(b, 'Retried.')).toMatchObject({custody: 'here', status: 'completed'})
  await b.runtime.close()
})

const refund = (cents: number) => ({calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents}}]})

test('[CUS-3] a run that waits for approval goes on where the next message is posted when its holder is closed', async () => {
  const a = await openDesk(shop, 'eve', [refund(8900)])
  await a.session.send('Refund all of A17.')
  const before = await until(a.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
  const approver = await shop.link('theo', {roles: ['approver']})
  const [asked] = await approver.inbox('open')
  const b = await openDesk(shop, 'eve', [{text: 'Nothing was refunded.'}], a)
  await until(b.session, view => view.status === 'waiting_for_approval' && view.custody === 'elsewhere')
  await a.runtime.close()
  await b.session.send('Stop: no refund.')
  const view = await said(b, 'Nothing was refunded.')
  expect(view).toMatchObject({status: 'completed', custody: 'here', rejected: 0, divergence: null})
  expect(view.passport).toMatchObject({run: before.passport?.run, attempt: 1, custody: {epoch: 2}})
  const late = approver.decide(asked!.approval, {verdict: 'approve', digest: asked!.digest})
  await expect(late).rejects.toMatchObject({code: 'refused', details: {status: 'voided'}})
  expect(shop.payments).toEqual([])
  await b.runtime.close()
})

test('[CUS-3] a sleeping run is woken by a message on another device when its holder is closed', async () => {
  const sleeping = {
    ...deskTools,
    lookupOrder: async (_: unknown, {sleepUntil}: ToolContext) => sleepUntil(Date.now() + 3_600_000),
  } as unknown as typeof deskTools
  const look = {calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}]}
  const a = await openDesk(shop, 'flo', [look], undefined, sleeping)
  await a.session.send('Look every hour.')
  await until(a.session, view => view.status === 'waiting_for_wake' && view.pending === 0)
  const b = await openDesk(shop, 'flo', [{text: 'Awake.'}], a)
  await until(b.session, view => view.status === 'waiting_for_wake' && view.custody === 'elsewhere')
  await a.runtime.close()
  await b.session.send('What do you see?')
  expect(await said(b, 'Awake.')).toMatchObject({custody: 'here', rejected: 0, divergence: null})
  await b.runtime.close()
})

test.each<[string, Parameters<typeof isAtRest>[0], boolean]>([
  ['no run', {run: null, calls: [], operations: []}, true],
  ['a model call', working([], []), false],
  ['a tool that runs', working(['a'], []), false],
  ['an operation that waits', working(['a'], ['a']), true],
  ['a tool that runs beside an operation', working(['a', 'b'], ['a']), false],
])('[CUS-1] the holder of a session with %s is at rest or not', (_, state, rests) => {
  expect(isAtRest(state)).toBe(rests)
})

function working(calls: string[], proposed: string[]): Parameters<typeof isAtRest>[0] {
  return {
    run: {ended: null, rest: null},
    calls: calls.map(id => ({id})),
    operations: proposed.map(call => ({call})),
  } as Parameters<typeof isAtRest>[0]
}
