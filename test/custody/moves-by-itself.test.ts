import {afterAll, beforeAll, expect, test} from 'vitest'
import {until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
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
