import {afterAll, beforeAll, expect, test} from 'vitest'
import {openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk, deskTools, openTestServer, type TestServer} from '../support/desk.ts'

let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(() => shop.close())

const input = {orderId: 'A17', cents: 8900}

/** A session that waits for the approval of one refund. */
async function waiting() {
  const model = scriptedModel([{calls: [{tool: 'refundOrder', input}]}])
  const sync = {link: await shop.link('maya'), token: await shop.token('maya')}
  const runtime = await openRuntime({agent: desk, model, tools: deskTools, dataDir: 'memory://', sync})
  const session = await runtime.openSession({agent: 'desk'})
  await session.send('Refund A17')
  await until(session, ({openOperations}) => openOperations[0]?.status === 'awaiting_approval')
  return {runtime, session}
}

function until(session: Session, met: (view: SessionView) => boolean): Promise<SessionView> {
  return new Promise(resolve => {
    const stop = session.subscribe(view => {
      if (!met(view)) return
      resolve(view)
      queueMicrotask(() => stop())
    })
  })
}

const lastText = ({entries}: SessionView) => entries.findLast(entry => entry.type === 'message')?.text

test('[RUN-4] a refund that waits is told with its input, however far above the shown entries it was proposed', async () => {
  const {runtime, session} = await waiting()
  for (let i = 1; i <= 120; i++) await session.send(`Later ${i}`, {policy: 'queue'})
  const view = await until(session, view => lastText(view) === 'Later 120')
  expect(view.entries.filter(({type}) => type === 'tool')).toEqual([])
  expect(view.openOperations).toMatchObject([
    {tool: 'refundOrder', status: 'awaiting_approval', input, voidable: true, unsentVoid: null},
  ])
  await runtime.setOnline(false)
  await session.send('A queued one', {policy: 'queue'})
  const queued = await until(session, view => lastText(view) === 'A queued one')
  expect(queued.openOperations[0]?.unsentVoid).toBeNull()
  await session.send('Only 10 euros', {policy: 'steer'})
  const corrected = await until(session, view => lastText(view) === 'Only 10 euros')
  expect(corrected.openOperations).toMatchObject([{input, unsentVoid: 'message'}])
  await runtime.close()
})

test('[RUN-7] a stop and a closing are told as unsent until the server has them, and then nothing is open', async () => {
  const {runtime, session} = await waiting()
  await runtime.setOnline(false)
  await session.cancel('Enough.')
  const cancelled = await until(session, ({status}) => status === 'cancelled')
  expect(cancelled.openOperations).toMatchObject([{input, unsentVoid: 'cancel'}])
  expect(cancelled.closed).toBeNull()
  await session.close('Done.')
  const closed = await until(session, ({closed}) => closed !== null)
  expect(closed.closed).toBe('device')
  expect(closed.openOperations).toMatchObject([{unsentVoid: 'close'}])
  await runtime.setOnline(true)
  const heard = await until(session, ({closed}) => closed === 'server')
  expect(heard.openOperations.filter(({unsentVoid}) => unsentVoid !== null)).toEqual([])
  await until(session, ({openOperations}) => openOperations.length === 0)
  await runtime.close()
})
