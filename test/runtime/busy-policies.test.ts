import {afterAll, beforeAll, expect, test} from 'vitest'
import {openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {type ScriptedStep, scriptedModel} from '../../runtime/testing.ts'
import {desk, deskTools, openTestServer, type TestServer} from '../support/desk.ts'

let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(() => shop.close())

async function openDesk(steps: ScriptedStep[]) {
  const model = scriptedModel(steps)
  const sync = {link: await shop.link('maya'), token: await shop.token('maya')}
  const runtime = await openRuntime({agent: desk, model, tools: deskTools, dataDir: 'memory://', sync})
  return {model, runtime, session: await runtime.openSession({agent: 'desk'})}
}

function gate(): {opened: Promise<void>; open: () => void} {
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return {opened, open}
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

const saidLast = (prompt: unknown) => JSON.stringify((prompt as unknown[]).at(-1))
const large = {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]}

test('[RUN-3] a steering message is what the next step sees last, although it came during the reply before', async () => {
  const held = gate()
  const {model, runtime, session} = await openDesk([
    {text: 'One moment.', calls: [{tool: 'lookupOrder', input: {orderId: 'B22'}}], until: held.opened},
    {text: 'In short: 32.00.', expect: ({prompt}) => expect(saidLast(prompt)).toContain('Be short.')},
  ])
  await session.send('What about B22?')
  await until(session, () => model.calls.length === 1)
  await session.send('Be short.')
  held.open()
  const view = await session.settled()
  expect(view.entries.map(entry => entry.type)).toEqual(['message', 'message', 'reply', 'tool', 'reply'])
  model.done()
  await runtime.close()
})

test('[RUN-3] an interrupting message stops the model call under way and is answered in the same run', async () => {
  const {model, runtime, session} = await openDesk([
    {text: 'never said', until: new Promise(() => {})},
    {text: 'Then only this.', expect: ({prompt}) => expect(saidLast(prompt)).toContain('Stop, only B22.')},
  ])
  await session.send('Tell me all about every order.')
  await until(session, () => model.calls.length === 1)
  const first = (await session.passport())?.run
  await session.send('Stop, only B22.', {policy: 'interrupt'})
  const view = await session.settled()
  expect(view.entries.flatMap(entry => (entry.type === 'reply' ? [entry.text] : []))).toEqual(['Then only this.'])
  expect(view.passport?.run).toBe(first)
  model.done()
  await runtime.close()
})

test('[RUN-3] a queued message is unseen while the run waits, voids nothing, and starts the next run', async () => {
  const {model, runtime, session} = await openDesk([
    large,
    {text: 'Refunded.', expect: ({prompt}) => expect(JSON.stringify(prompt)).not.toContain('And B22?')},
    {text: 'B22 is fine.', expect: ({prompt}) => expect(saidLast(prompt)).toContain('And B22?')},
  ])
  await session.send('Refund A17.')
  const first = (await until(session, view => view.status === 'waiting_for_approval')).passport?.run
  await session.send('And B22?', {policy: 'queue'})
  await until(session, view => view.pending === 0)
  const theo = await shop.link('theo', {roles: ['approver']})
  const [item] = await theo.inbox('open')
  await theo.decide(item!.approval, {verdict: 'approve', digest: item!.digest})
  const view = await until(
    session,
    ({entries, settled}) => settled && entries.filter(entry => entry.type === 'reply').length === 2,
  )
  expect(view.passport?.run).not.toBe(first)
  expect(shop.payments.filter(payment => payment.orderId === 'A17')).toHaveLength(1)
  model.done()
  await runtime.close()
})

test('[RUN-3] [RUN-6] with the policy fork the message goes to a branch and the run goes on undisturbed', async () => {
  const held = gate()
  const {model, runtime, session} = await openDesk([
    {text: 'The first answer.', until: held.opened},
    {text: 'The branch answers.', expect: ({prompt}) => expect(saidLast(prompt)).toContain('Meanwhile?')},
  ])
  await session.send('A long question.')
  await until(session, view => view.pending === 0 && model.calls.length === 1)
  const branch = await session.send('Meanwhile?', {policy: 'fork'})
  expect(branch.id).not.toBe(session.id)
  const branched = await branch.settled()
  expect(branched.entries.filter(entry => entry.type === 'message').map(entry => entry.text)).toEqual([
    'A long question.',
    'Meanwhile?',
  ])
  held.open()
  const original = await session.settled()
  expect(original.entries.map(entry => entry.type)).toEqual(['message', 'reply'])
  model.done()
  await runtime.close()
})

test('[RUN-3] [RUN-9] with the policy reject a busy session refuses the message by name and keeps nothing of it', async () => {
  const held = gate()
  const {model, runtime, session} = await openDesk([{text: 'Done.', until: held.opened}])
  await session.send('First.')
  await until(session, () => model.calls.length === 1)
  const refusal = await session.send('Second.', {policy: 'reject'}).catch(error => error)
  expect(HoldfastError.is(refusal, 'refused')).toBe(true)
  expect(refusal.details).toMatchObject({
    asked: 'message.posted',
    owner: 'user',
    met: expect.stringContaining('running'),
  })
  held.open()
  const view = await session.settled()
  expect(view.entries.map(entry => entry.type)).toEqual(['message', 'reply'])
  await runtime.close()
})

test('[CUS-3] a second device takes over through the server, and the first is told and stops', async () => {
  const held = gate()
  const first = await openDesk([{text: 'never recorded', until: held.opened}])
  await first.session.send('Hello?')
  await until(first.session, view => view.pending === 0 && first.model.calls.length === 1)

  const second = await openDesk([{text: 'The second device answers.'}])
  await new Promise<void>(resolve => {
    const stop = second.runtime.subscribeSessions(list => {
      if (!list.some(({id}) => id === first.session.id)) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
  const session = await second.runtime.openSession({session: first.session.id})
  await until(session, view => view.custody === 'elsewhere')
  await session.takeOver()
  const view = await until(session, ({settled, status}) => settled && status === 'completed')
  expect(view.passport?.custody.epoch).toBe(2)
  held.open()
  const told = await until(
    first.session,
    ({custody, status, pending}) => custody === 'elsewhere' && status === 'completed' && pending === 0,
  )
  expect(
    told.entries.flatMap(entry =>
      entry.type === 'reply' && entry.durability.status !== 'rejected' ? [entry.text] : [],
    ),
  ).toEqual(['The second device answers.'])
  await first.runtime.close()
  await second.runtime.close()
})
