import {afterAll, beforeAll, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {readEvent} from '../../runtime/protocol/event.ts'
import {until} from '../support/crashable-device.ts'
import {deskTools, openTestServer, type TestServer} from '../support/desk.ts'
import {ofKind} from '../support/desk-scenes.ts'
import {createGate} from '../support/gate.ts'
import {type Desk, openDesk} from '../support/two-devices.ts'

let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(() => shop.close())

async function pair(subject: string, steps: {a: Parameters<typeof openDesk>[2]; b: Parameters<typeof openDesk>[2]}) {
  const a = await openDesk(shop, subject, [{text: 'Hello.'}, ...steps.a])
  await a.session.send('Hello?')
  await until(a.session, view => view.settled && view.status === 'completed' && view.pending === 0)
  const b = await openDesk(shop, subject, steps.b, a)
  await until(b.session, view => view.status === 'completed' && view.custody === 'elsewhere')
  return {a, b}
}

const said = (desk: Desk, text: string) =>
  until(desk.session, view => view.entries.some(entry => entry.type === 'reply' && entry.text === text))
const log = async (subject: string, session: string) =>
  (await (await shop.link(subject)).pull(session as never, 0)).events.map(readEvent)

async function close({a, b}: {a: Desk; b: Desk}) {
  a.model.done()
  b.model.done()
  await a.runtime.close()
  await b.runtime.close()
}

test('[CUS-1] [CUS-4] another device goes on offline, and the server grants it afterwards, since nobody moved the epoch', async () => {
  const both = await pair('eva', {a: [], b: [{text: 'Answered apart.'}]})
  const {a, b} = both
  const refusal = await b.session.continueOffline().catch(error => error)
  expect(HoldfastError.is(refusal, 'refused')).toBe(true)
  await b.online(false)
  await b.session.send('Are you there?')
  await b.session.continueOffline()
  await said(b, 'Answered apart.')
  await b.online(true)
  const granted = await until(b.session, view => view.pending === 0 && view.status === 'completed')
  expect(granted).toMatchObject({custody: 'here', rejected: 0, divergence: null})
  expect(granted.passport?.custody.epoch).toBe(2)
  const told = await until(
    a.session,
    view => view.custody === 'elsewhere' && view.settled && view.status === 'completed',
  )
  expect(told.passport?.custody).toEqual(granted.passport?.custody)
  const events = await log('eva', b.session.id)
  expect(events.filter(({kind}) => kind === 'custody.assumed')).toHaveLength(1)
  await close(both)
})

test('[CUS-4] what was done provisionally is set aside when the holder has worked meanwhile, with nothing interleaved', async () => {
  const both = await pair('fay', {a: [{text: 'The holder answers.'}], b: [{text: 'Answered apart.'}]})
  const {a, b} = both
  await b.online(false)
  await b.session.send('Are you there?')
  await b.session.continueOffline()
  await said(b, 'Answered apart.')
  await a.session.send('Still here.')
  await said(a, 'The holder answers.')
  await until(a.session, view => view.pending === 0 && view.status === 'completed')
  a.steps.push({text: 'And the late question.'})
  await b.online(true)
  await said(b, 'And the late question.')
  const view = await until(b.session, one => one.pending === 0 && one.custody === 'elsewhere')
  expect(view.divergence).toMatchObject({replies: 1, lastWords: 'Answered apart.', resolution: null})
  const events = await log('fay', b.session.id)
  expect(events.some(({kind}) => kind === 'custody.assumed')).toBe(false)
  expect(new Set(events.flatMap(({epoch}) => epoch ?? []))).toEqual(new Set([1]))
  expect(events.filter(({kind}) => kind === 'message.posted')).toHaveLength(3)
  await close(both)
})

test('[CUS-4] two devices that both went on offline: the first to come back is granted, the other is set aside', async () => {
  const both = await pair('gus', {a: [], b: [{text: 'B apart.'}]})
  const {a, b} = both
  const c = await openDesk(shop, 'gus', [{text: 'C apart.'}], a)
  await until(c.session, view => view.status === 'completed')
  for (const desk of [b, c]) {
    await desk.online(false)
    await desk.session.send('Are you there?')
    await desk.session.continueOffline()
  }
  await said(b, 'B apart.')
  await said(c, 'C apart.')
  await b.online(true)
  await until(b.session, view => view.pending === 0 && view.custody === 'here')
  b.steps.push({text: 'B answers the other too.'})
  await c.online(true)
  await said(c, 'B answers the other too.')
  const view = await until(c.session, one => one.pending === 0 && one.divergence !== null)
  expect(view.custody).toBe('elsewhere')
  expect(view.divergence?.lastWords).toBe('C apart.')
  c.model.done()
  await c.runtime.close()
  await close(both)
})

test('[CUS-3] [RUN-8] a run handed over while it waits for approval, and back, goes on once and names what from', async () => {
  const a = await openDesk(shop, 'hal', [
    {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
    {text: 'Paid, says the first device.'},
  ])
  await a.session.send('Refund A17.')
  await until(a.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
  const b = await openDesk(shop, 'hal', [], a)
  await until(b.session, view => view.status === 'waiting_for_approval')
  const stranger = (await b.session.devices()).filter(({here}) => !here)
  expect(stranger).toEqual([{device: stranger[0]?.device, here: false, holder: true}])
  const unknown = await a.session.handOver('dev_01890000-0000-7000-8000-000000000000').catch(error => error)
  expect(HoldfastError.is(unknown, 'refused')).toBe(true)

  await b.session.takeOver()
  await until(b.session, view => view.custody === 'here')
  await until(a.session, view => view.custody === 'elsewhere')
  await b.session.handOver(stranger[0]!.device)
  await until(a.session, view => view.custody === 'here' && view.passport?.custody.epoch === 3)
  const theo = await shop.link('theo', {roles: ['approver']})
  const item = (await theo.inbox('open')).find(one => one.session === a.session.id)
  await theo.decide(item!.approval, {verdict: 'approve', digest: item!.digest})
  const view = await until(a.session, one => one.status === 'completed' && one.pending === 0)
  expect(view.passport?.resumedFrom).toMatchObject({epoch: 1, holder: stranger[0]?.device})
  expect(shop.payments.filter(({operation}) => operation === item!.operation)).toHaveLength(1)
  const handed = ofKind(await log('hal', a.session.id), 'custody.granted')
  expect(handed.map(({data}) => data.reason)).toEqual(['requested', 'handed_over'])
  await close({a, b})
})

test('[CUS-3] a run taken over in the middle of a model call is answered by the new holder alone', async () => {
  const a = await openDesk(shop, 'ida', [{text: 'never said', until: new Promise(() => {})}])
  await a.session.document('draft').edit('Dear Lena,')
  await a.session.send('Go on with the letter.')
  await until(a.session, view => view.pending === 0 && a.model.calls.length === 1)
  const b = await openDesk(shop, 'ida', [{text: 'Answered by the second.'}], a)
  await until(b.session, view => view.status === 'running')
  await b.session.takeOver()
  const view = await until(b.session, one => one.status === 'completed' && one.pending === 0)
  expect(view.passport?.resumedFrom).toMatchObject({epoch: 1})
  expect(view.passport?.may.resume.legal).toBe(false)
  const told = await until(a.session, one => one.status === 'completed' && one.settled)
  expect(told).toMatchObject({custody: 'elsewhere', divergence: null, rejected: 0})
  await close({a, b})
})

const look = {tool: 'lookupOrder', input: {orderId: 'A17'}}
const write = {tool: 'saveNote', input: {text: 'Look into it.'}}

test.each([
  ['a read', [look]],
  ['a read that a write of this device waits for', [look, write]],
])(
  "[CUS-3] [LOG-7] a run taken over in the middle of %s: each call gets one result, the new holder's, and nothing late",
  async (_, calls) => {
    const subject = `jon-${calls.length}`
    const gate = createGate()
    const lookupOrder: typeof deskTools.lookupOrder = async (...args) =>
      gate.pass().then(() => deskTools.lookupOrder(...args))
    const a = await openDesk(shop, subject, [{calls}], undefined, {...deskTools, lookupOrder})
    await a.session.send('Look into A17.')
    await gate.reached(1)
    const b = await openDesk(shop, subject, [{text: 'Done by the second.'}], a)
    await until(b.session, view => view.entries.filter(({type}) => type === 'tool').length === calls.length)
    await b.session.takeOver()
    await until(b.session, one => one.status === 'completed' && one.pending === 0)
    gate.open()
    await until(a.session, one => one.status === 'completed' && one.settled && one.custody === 'elsewhere')
    const events = await log(subject, a.session.id)
    const holder = ofKind(events, 'run.resumed')[0]?.device
    expect(ofKind(events, 'run.resumed')).toMatchObject([{data: {from: {epoch: 1}}}])
    expect(ofKind(events, 'run.started').map(({device}) => device === holder)).toEqual([false])
    const results = ofKind(events, 'tool.returned')
    expect(results.map(({device, epoch, data}) => [device, epoch, data.outcome])).toEqual(
      calls.map(() => [holder, 2, 'ok']),
    )
    expect(ofKind(events, 'document.updated').map(({device}) => device)).toEqual(calls.includes(write) ? [holder] : [])
    await close({a, b})
  },
)
