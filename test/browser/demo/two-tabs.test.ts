import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {newConversation, say, transcript, untilBarSays, untilRefund, untilRole} from './support/desk-page.ts'
import {approve, untilAsked} from './support/inbox-page.ts'
import {paidTranscript, refunds, textOf} from './support/refund.ts'
import {expectSound} from './support/tables.ts'

const site = demoSite({model: 'scripted'})
const {next, asked} = refunds()
let inbox: Page

beforeAll(async () => {
  inbox = await site.openTab('/inbox')
})

/** Two at once, about one order: whichever the server takes last is the one that counts. */
const corrections = [
  {orderId: 'B31', cents: 5100},
  {orderId: 'B31', cents: 5200},
] as const

const sessionOf = (page: Page) => new URL(page.url()).search

describe('two tabs of one browser', () => {
  let leader: Page
  let follower: Page

  test('[CUS-2] one loop answers both: one model call a step, and the same transcript in each', async () => {
    leader = await site.openTab()
    await untilRole(leader, 'leader')
    const refund = next()
    const held = site.model.hold(({cents}) => cents === refund.cents, 'start')
    await newConversation(leader, refund.text)
    follower = await site.openTab(`/${sessionOf(leader)}`)
    await untilRole(follower, 'follower')
    held.open()
    await approve(inbox, refund.orderId)
    for (const page of [leader, follower]) {
      await untilBarSays(page, 'Done')
      expect(await transcript(page)).toEqual(paidTranscript(refund))
    }
    expect(site.model.calls.map(({step}) => step)).toEqual([0, 1, 2])
  })

  test('[CUS-2] closing the tab that runs it lets the other go on, and the generation under way is taken up and paid once', async () => {
    const before = site.model.calls.length
    const refund = next()
    const held = site.model.hold(({cents, step}) => cents === refund.cents && step === 1, 'start')
    await newConversation(follower, refund.text)
    await held.reached(1)
    await leader.close()
    await untilRole(follower, 'leader')
    held.open()
    await approve(inbox, refund.orderId)
    await untilBarSays(follower, 'Done')
    expect(await transcript(follower)).toEqual(paidTranscript(refund))
    // The tab that goes on takes up the generation that is already paid for.
    expect(site.model.calls.slice(before).map(({step}) => step)).toEqual([0, 1, 2])
  })

  test('[APP-6] a desk closed while it waits is approved meanwhile, and finishes when it is opened again', async () => {
    const refund = next()
    await newConversation(follower, refund.text)
    await untilBarSays(follower, 'Waiting for approval')
    const session = sessionOf(follower)
    await follower.close()
    await untilAsked(inbox, refund.orderId)
    await approve(inbox, refund.orderId)
    await inbox.getByText('Approved by Theo').nth(2).waitFor()
    const reopened = await site.openTab(`/${session}`)
    await untilBarSays(reopened, 'Done')
    expect(await transcript(reopened)).toEqual(paidTranscript(refund))
    follower = reopened
  })

  test('[RUN-3] messages written in both tabs at once are both taken, in one order that both show', async () => {
    const first = next()
    await newConversation(follower, first.text)
    await untilBarSays(follower, 'Waiting for approval')
    const other = await site.openTab(`/${sessionOf(follower)}`)
    await untilBarSays(other, 'Waiting for approval')
    await Promise.all([say(follower, textOf(corrections[0])), say(other, textOf(corrections[1]))])
    await untilRefund(follower, first.orderId, 'Withdrawn')
    await approve(inbox, corrections[0].orderId)
    await Promise.all([untilBarSays(follower, 'Done'), untilBarSays(other, 'Done')])
    const shown = await transcript(follower)
    expect(shown.filter(line => line.startsWith('Maya: ')).sort()).toEqual(
      [first.text, ...corrections.map(textOf)].map(text => `Maya: ${text}`).sort(),
    )
    expect(await transcript(other)).toEqual(shown)
  })
})

test('[OP-3] in the tables each event, each result and each refund is there once', async () => {
  const tables = await site.tables()
  expectSound(tables)
  expect(tables.refunds.slice(0, 3)).toMatchObject(asked.slice(0, 3))
  expect(tables.refunds).toHaveLength(4)
  expect(corrections.map(({cents}) => cents)).toContain(tables.refunds[3]?.cents)
})
