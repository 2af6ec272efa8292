import type {LanguageModelV3Prompt} from '@ai-sdk/provider'
import {expect, test} from 'vitest'
import {agentHost, defineAgent} from '../../runtime/loop/define.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Envelope} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {promptModel, said} from '../../runtime/testing.ts'
import {type Device, Killer, openDevice, until} from '../support/crashable-device.ts'
import {desk, deskTools, networkDown, openTestServer} from '../support/desk.ts'

const first = 'Refund all of A17.'
const changed = 'Stop: refund only 10.00 of A17.'

/** Says from the prompt alone what comes next, and keeps every prompt it was shown. */
function clerk(prompts: LanguageModelV3Prompt[]) {
  return promptModel(prompt => {
    prompts.push(prompt)
    if (!said(prompt).includes(changed)) return {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]}
    const last = prompt.at(-1)
    if (last?.role === 'tool') return {text: 'Only 10.00 was refunded.'}
    return {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 1000}}]}
  })
}

async function appearsOn(device: Device, id: SessionId): Promise<void> {
  await new Promise<void>(resolve => {
    device.sessions.subscribeSessions(list => list.some(item => item.id === id) && resolve())
  })
}

test('[RUN-4] an approval that arrives after the instruction changed and the device was killed moves nothing, and one run goes on', async () => {
  const shop = await openTestServer()
  const [laptop, phone] = [
    await openNodeDatabase({dataDir: 'memory://'}),
    await openNodeDatabase({dataDir: 'memory://'}),
  ]
  const prompts: LanguageModelV3Prompt[] = []
  const model = clerk(prompts)
  const killer = new Killer(null)
  let unreachable = false
  const faults = {before: () => (unreachable ? networkDown() : undefined)}

  // The agent on the laptop asks for a refund and waits for an approver.
  const killed = await openDevice({db: laptop.db, shop, subject: 'maya', model, killer, faults})
  const id = env.id('session')
  await killed.service.openSession(id, {event: env.id('event'), agent: 'desk'})
  await killed.service.send(id, env.id('event'), {text: first})
  const waiting = await until(await killed.session(id), ({status}) => status === 'waiting_for_approval')
  const before = waiting.passport
  expect(before).toMatchObject({attempt: 1, checkpoint: {steps: 1}, operations: [{status: 'awaiting_approval'}]})
  expect(before?.may.correct).toMatchObject({legal: true, why: expect.stringContaining('voids every operation')})
  const approver = await shop.link('theo', {roles: ['approver']})
  const [asked] = await approver.inbox('open')

  // The phone of the same person changes the instruction; the laptop does not hear of it and dies.
  // The phone's build is older, so that it cannot continue the run itself.
  const older = defineAgent({...desk, version: '0.9.0'})
  const hosts = [agentHost(older, {model: promptModel(() => networkDown()), tools: deskTools})]
  const second = await openDevice({db: phone.db, shop, subject: 'maya', model, hosts})
  await appearsOn(second, id)
  unreachable = true
  await second.service.send(id, env.id('event'), {text: changed})
  const corrected = await until(await second.session(id), view => view.passport?.operations.length === 0)
  expect(corrected).toMatchObject({custody: 'elsewhere', passport: {run: before?.run, operations: []}})
  expect(() => killer.kill()).toThrow('killed')
  await killed.close().catch(() => undefined)
  await killer.buried()

  // Now the old approval arrives.
  const late = approver.decide(asked!.approval, {verdict: 'approve', digest: asked!.digest})
  await expect(late).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(/voided.*newer instruction/i),
    details: {owner: 'approval service', status: 'voided'},
  })
  expect(shop.payments).toEqual([])

  // The laptop is opened again on the same database.
  const reopened = await openDevice({db: laptop.db, shop, subject: 'maya', model})
  const session = await reopened.session(id)
  const view = await until(session, ({status, pending}) => status === 'completed' && pending === 0)

  expect(shop.payments).toMatchObject([{orderId: 'A17', cents: 1000}])
  expect(
    view.entries.map(entry => (entry.type === 'tool' ? [entry.result?.outcome, entry.operation?.status] : entry.type)),
  ).toEqual(['message', ['superseded', 'voided'], 'message', ['ok', 'executed'], 'reply'])
  const log = (await (await shop.link('maya')).pull(id, 0)).events
  expect(kinds(log).filter(kind => kind.startsWith('run.'))).toEqual(['run.started', 'run.resumed', 'run.completed'])
  expect(kinds(log).filter(kind => kind.startsWith('approval.'))).toEqual(['approval.requested'])
  // Resumed at its last confirmed step: what the model had answered before was not asked again.
  expect(prompts.filter(prompt => !said(prompt).includes(changed))).toHaveLength(1)
  expect(said(prompts[1]!)).toEqual([first, changed])
  expect(JSON.stringify(prompts[1])).toContain('superseded')
  expect(view.passport).toMatchObject({
    run: before?.run,
    attempt: 1,
    status: 'completed',
    checkpoint: {steps: 3, openCalls: []},
    operations: [],
    pending: [],
    rejected: [],
    lastConfirmed: log.at(-1)?.seq,
    may: {resume: {legal: false}, cancel: {legal: false, why: 'The run is already completed.'}},
  })
  // The phone sees the same, word for word.
  const theirs = await until(await second.session(id), each => each.head === view.head)
  expect(theirs.entries).toEqual(view.entries)

  await Promise.all([reopened.close(), second.close()])
  await Promise.all([shop.close(), laptop.close(), phone.close()])
})

function kinds(events: readonly Envelope[]): string[] {
  return events.map(event => event.kind)
}

test('[RUN-4] a correction that arrives while the model is still answering the old instruction stops what it then asks for', async () => {
  const shop = await openTestServer()
  const database = await openNodeDatabase({dataDir: 'memory://'})
  let answer: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    answer = resolve
  })
  let asked: () => void = () => undefined
  const thinking = new Promise<void>(resolve => {
    asked = resolve
  })
  const model = promptModel(prompt => {
    if (said(prompt).includes(changed)) return {text: 'Nothing was refunded.'}
    asked()
    return {calls: [{tool: 'refundOrder', input: {orderId: 'B22', cents: 3200}}], until: gate}
  })
  const device = await openDevice({db: database.db, shop, subject: 'maya', model})
  const session = await device.sessions.openSession({agent: 'desk'})
  await session.send('Refund B22.')
  await thinking
  await session.send(changed)
  answer()
  const view = await until(session, ({status, pending}) => status === 'completed' && pending === 0)
  expect(view.entries.map(entry => (entry.type === 'tool' ? entry.result?.outcome : entry.type))).toEqual([
    'message',
    'message',
    'superseded',
    'reply',
  ])
  expect(shop.payments).toEqual([])
  await device.close()
  await Promise.all([shop.close(), database.close()])
})

test('[RUN-4] a device that has not heard of a correction cannot get the old instruction carried out after it', async () => {
  const shop = await openTestServer()
  const [laptop, phone] = [
    await openNodeDatabase({dataDir: 'memory://'}),
    await openNodeDatabase({dataDir: 'memory://'}),
  ]
  const model = promptModel(prompt =>
    said(prompt).includes(changed)
      ? {text: 'Nothing was refunded.'}
      : {calls: [{tool: 'refundOrder', input: {orderId: 'B22', cents: 3200}}]},
  )
  let talking = true
  const faults = {before: () => (talking ? undefined : networkDown())}
  const deaf = await openDevice({db: laptop.db, shop, subject: 'maya', model, faults})
  const second = await openDevice({db: phone.db, shop, subject: 'maya', model})
  const session = await deaf.sessions.openSession({agent: 'desk'})
  await until(session, ({pending}) => pending === 0)
  await appearsOn(second, session.id)
  talking = false
  await deaf.service.setOnline(false)
  await session.send('Refund B22.')
  await until(session, ({status}) => status === 'waiting_for_tool')
  await second.service.send(session.id, env.id('event'), {text: changed})
  await until(await second.session(session.id), ({pending}) => pending === 0)
  talking = true
  await deaf.service.setOnline(true)
  const view = await until(session, ({status, pending}) => status === 'completed' && pending === 0)
  expect(shop.payments).toEqual([])
  expect(view.entries.at(-1)).toMatchObject({type: 'reply', text: 'Nothing was refunded.'})
  await Promise.all([deaf.close(), second.close()])
  await Promise.all([shop.close(), laptop.close(), phone.close()])
})
