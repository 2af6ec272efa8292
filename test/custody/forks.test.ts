import {afterAll, beforeAll, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
import {openDesk} from '../support/two-devices.ts'

let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(() => shop.close())

test('[RUN-6] [ID-5] a branch names what it does not undo, also through its ancestors, and every run keeps its passport, offline too', async () => {
  const desk = await openDesk(shop, 'kim', [
    {calls: [{tool: 'refundOrder', input: {orderId: 'B22', cents: 1200}}]},
    {text: 'Refunded.'},
    {text: 'Anything else?'},
    {text: 'In the branch.'},
  ])
  const {runtime, session} = desk
  await session.send('Refund 12.00 for B22.')
  const first = await until(session, view => view.status === 'completed' && view.pending === 0)
  await session.send('Thanks.')
  const second = await until(
    session,
    view => view.passport?.run !== first.passport?.run && view.status === 'completed' && view.pending === 0,
  )
  expect(await session.effectsAfter(second.head)).toEqual({effects: [], missing: []})

  const branch = await session.fork({after: 2})
  const stands = {
    tool: 'refundOrder',
    status: 'executed',
    session: session.id,
    receipt: expect.stringContaining('paid-'),
  }
  expect(branch.standing).toMatchObject({effects: [stands], missing: []})
  await branch.send('Only look, please.')
  const inBranch = await until(branch, view => view.status === 'completed' && view.pending === 0)
  expect(inBranch.passport?.branch).toMatchObject({from: {session: session.id, seq: 2}, standing: {effects: [stands]}})
  const grandchild = await branch.fork({after: 1})
  expect(grandchild.standing.effects).toMatchObject([stands])
  await until(grandchild, view => view.pending === 0 && view.head > 0)

  await desk.online(false)
  const passport = await runtime.passport(first.passport!.run)
  expect(passport).toMatchObject({
    run: first.passport?.run,
    session: session.id,
    status: 'completed',
    lastConfirmed: second.head,
    pending: [],
    rejected: [],
    may: {resume: {legal: false, why: 'A later run of this session has started.'}, correct: {legal: true}},
  })
  expect(await runtime.passport(second.passport!.run)).toEqual(await session.passport())
  expect(await runtime.passport('run_01890000-0000-7000-8000-000000000000' as never)).toBeNull()

  const unknown = await session.fork({after: 999}).catch(error => error)
  expect(HoldfastError.is(unknown, 'bad_input')).toBe(true)
  expect(unknown.message).toContain(`1 to ${second.head}, got 999`)
  desk.model.done()
  await runtime.close()
})
