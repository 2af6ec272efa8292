import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {killWorker, newConversation, transcript, untilBarSays, untilStreaming} from './support/desk-page.ts'
import {approve} from './support/inbox-page.ts'
import {paidTranscript, type Refund, refunds} from './support/refund.ts'
import {repliesFor} from './support/scripted-gateway.ts'
import {expectSound, messagesIn} from './support/tables.ts'

const site = demoSite({model: 'scripted'})
const {next, asked} = refunds()
let desk: Page
let inbox: Page

beforeAll(async () => {
  desk = await site.openTab()
  inbox = await site.openTab('/inbox')
})

async function expectPaid(refund: Refund): Promise<void> {
  await untilBarSays(desk, 'Done')
  expect(await transcript(desk)).toEqual(paidTranscript(refund))
}

/** The steps of the run at which the provider was asked: each is paid for. */
function callsAbout(refund: Refund): number[] {
  return site.model.calls.filter(({cents}) => cents === refund.cents).map(({step}) => step)
}

describe.each<[string, () => Promise<unknown>]>([
  ['[CUS-2] a reload', () => desk.reload()],
  ['[RUN-8] a killed worker', () => killWorker(desk)],
])('%s', (name, interrupt) => {
  test(`${name} during a model call: it is taken up where it is, and paid once`, async () => {
    const refund = next()
    const held = site.model.hold(({cents, step}) => cents === refund.cents && step === 0, 'start')
    await newConversation(desk, refund.text)
    await held.reached(1)
    await interrupt()
    await untilBarSays(desk, 'Connected')
    held.open()
    await approve(inbox, refund.orderId)
    await expectPaid(refund)
    expect(callsAbout(refund)).toEqual([0, 1, 2])
  })

  test(`${name} between a tool call and its result: the call gets one result`, async () => {
    const refund = next()
    const held = site.proxy.hold(request => request === `GET /v1/facts/order%2F${refund.orderId}`)
    await newConversation(desk, refund.text)
    await held.reached(1)
    await interrupt()
    await held.reached(2)
    held.open()
    await approve(inbox, refund.orderId)
    await expectPaid(refund)
  })

  test(`${name} while it waits for approval: it still waits, and goes on with the yes`, async () => {
    const refund = next()
    await newConversation(desk, refund.text)
    await untilBarSays(desk, 'Waiting for approval')
    await interrupt()
    await untilBarSays(desk, 'Waiting for approval')
    await approve(inbox, refund.orderId)
    await expectPaid(refund)
  })

  test(`${name} during the final text: the text is said once, whole, and nothing is paid again`, async () => {
    const refund = next()
    const held = site.model.hold(({cents, step}) => cents === refund.cents && step === 2, 'middle')
    await newConversation(desk, refund.text)
    await approve(inbox, refund.orderId)
    await untilStreaming(desk, repliesFor(refund.orderId)[2].slice(0, 10))
    await interrupt()
    await untilStreaming(desk, repliesFor(refund.orderId)[2].slice(0, 10))
    held.open()
    await expectPaid(refund)
    expect(callsAbout(refund)).toEqual([0, 1, 2])
  })
})

test('[OP-3] in the tables each event, each result and each refund is there once', async () => {
  const tables = await site.tables()
  expectSound(tables)
  expect(messagesIn(tables).sort()).toEqual(
    asked.map(({cents, orderId}) => `Refund ${cents} cents of ${orderId}`).sort(),
  )
  expect(tables.refunds).toMatchObject(asked)
  expect(tables.approvals.map(({status}) => status)).toEqual(asked.map(() => 'granted'))
})
