import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {
  newConversation,
  say,
  switchConnection,
  transcript,
  untilBarSays,
  untilRefund,
  untilReply,
  untilSynced,
} from './support/desk-page.ts'
import {expectSound, messagesIn} from './support/tables.ts'

const site = demoSite({model: 'rules'})
let desk: Page

beforeAll(async () => {
  desk = await site.openTab()
})

const asked = {
  known: 'Where is order A17?',
  unknown: 'Where is order D07?',
  refund: 'The mug in A17 arrived broken.',
}

describe('offline by the switch on the page', () => {
  let offline: string[]

  test('[FACT-2] read tools answer from copies that say how old they are, or say that they cannot', async () => {
    await newConversation(desk, asked.known)
    await untilBarSays(desk, 'Done')
    await switchConnection(desk, false)
    await say(desk, asked.known)
    await untilReply(desk, "from this device's copy")
    await untilBarSays(desk, 'Done')
    await say(desk, asked.unknown)
    await untilReply(desk, 'I cannot see order D07 now')
    await untilBarSays(desk, 'Done')
  })

  test('[SYNC-5] a refund asked for offline is proposed, marked as only on this device, and not paid', async () => {
    await say(desk, asked.refund)
    await untilRefund(desk, 'A17', 'Only on this device')
    expect(await desk.locator('.entry-message .mark-device').count()).toBe(3)
    offline = await transcript(desk)
  })

  test('[SYNC-5] a reload changes nothing: still offline, every word still there', async () => {
    await desk.reload()
    await untilBarSays(desk, 'Offline by choice')
    await untilRefund(desk, 'A17', 'Only on this device')
    expect(await transcript(desk)).toEqual(offline)
  })

  test('[SYNC-4] back online everything lands in order, once, and the refund is paid', async () => {
    await switchConnection(desk, true)
    await untilRefund(desk, 'A17', 'Refunded')
    await untilBarSays(desk, 'Done')
    await untilSynced(desk)
    const now = await transcript(desk)
    expect(now.slice(0, offline.length - 1)).toEqual(offline.slice(0, -1))
    expect(now.filter(line => line.startsWith('Maya: '))).toHaveLength(4)
  })
})

describe('offline because the server is gone', () => {
  test('[SYNC-5] after one visit the page loads, shows the conversation and takes messages', async () => {
    await desk.waitForFunction(async () => {
      await navigator.serviceWorker.ready
      return navigator.serviceWorker.controller !== null
    })
    const before = await transcript(desk)
    await site.endServer('SIGTERM')
    await desk.close()
    desk = await site.openTab('/')
    await untilBarSays(desk, 'Server out of reach')
    await untilBarSays(desk, 'Done')
    expect(await transcript(desk)).toEqual(before)
    await newConversation(desk, 'Where is order B23?')
    await untilReply(desk, 'I cannot see order B23 now')
    await say(desk, 'Where is order A17?')
    await untilReply(desk, "from this device's copy")
    await untilBarSays(desk, 'Done')
  })

  test('[SYNC-4] when the server is back, what was written meanwhile is with it', async () => {
    await site.startServer()
    await untilBarSays(desk, 'Connected')
    await untilSynced(desk)
  })
})

test('[SYNC-1] the tables have every message in the order it was written, and one refund', async () => {
  const tables = await site.tables()
  expectSound(tables)
  const bySession = tables.sessions.map(({id}) =>
    messagesIn({...tables, events: tables.events.filter(e => e.session === id)}),
  )
  expect(bySession).toEqual([
    [asked.known, asked.known, asked.unknown, asked.refund],
    ['Where is order B23?', 'Where is order A17?'],
  ])
  expect(tables.refunds).toMatchObject([{orderId: 'A17', cents: 1800}])
})
