import type {Page} from 'playwright-core'
import {expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {newConversation, untilRefund, untilRole} from './support/desk-page.ts'
import {approve, untilAsked} from './support/inbox-page.ts'

const site = demoSite({model: 'rules'})

test('[SYNC-8] eight tabs of one inbox share one stream over HTTP/1.1: approving reaches the server, and when the tab that holds it closes, another takes over', async () => {
  const streams = new Set<object>()
  site.proxy.add({
    match: ({request}) => request === 'GET /v1/live',
    onRequest: async () => void streams.add({}),
  })
  const desk = await site.openTab()
  await untilRole(desk, 'leader')
  const inboxes: Page[] = []
  for (let n = 0; n < 8; n++) inboxes.push(await site.openTab('/inbox?as=theo'))
  for (const inbox of inboxes) await inbox.getByText('Connected', {exact: true}).waitFor()
  expect(streams.size).toBeLessThan(5)
  await newConversation(desk, 'Order B22 arrived damaged, refund it.')
  for (const inbox of inboxes) await untilAsked(inbox, 'B22')
  await approve(inboxes.at(-1)!, 'B22')
  await untilRefund(desk, 'B22', 'Refunded')
  await inboxes[0]!.close()
  await newConversation(desk, 'Order D11 arrived damaged, refund it.')
  for (const inbox of inboxes.slice(1)) await untilAsked(inbox, 'D11')
  await approve(inboxes[1]!, 'D11')
  await untilRefund(desk, 'D11', 'Refunded')
})
