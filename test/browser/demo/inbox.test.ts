import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {newConversation, untilRefund, untilRole} from './support/desk-page.ts'
import {approve, untilAsked} from './support/inbox-page.ts'

const site = demoSite({model: 'rules'})
let desk: Page
let theo: Page
let ines: Page

beforeAll(async () => {
  desk = await site.openTab()
  await untilRole(desk, 'leader')
  theo = await site.openTab('/inbox?as=theo')
  ines = await site.openTab('/inbox?as=ines')
})

describe('the approvals page', () => {
  test('[APP-1] above the second limit two people have to say yes, and both pages say who has', async () => {
    await newConversation(desk, 'Order E05 arrived damaged, refund it.')
    await untilAsked(theo, 'E05')
    await theo.getByText('2 people have to say yes. Nobody has so far.').waitFor()
    await approve(theo, 'E05')
    await theo.getByText('You have said yes. It waits for 1 more.').waitFor()
    await ines.getByText('Theo said yes. 1 more person has to.').waitFor()
    await untilRefund(desk, 'E05', 'Waiting for approval')
    await desk.getByText('Theo said yes; 1 more is needed.').waitFor()
    await approve(ines, 'E05')
    await untilRefund(desk, 'E05', 'Refunded')
    await ines.getByText('Approved by Theo and Ines').waitFor()
  })

  test('[APP-4] a decision made without a connection says that it is none yet, survives a reload, and counts afterwards', async () => {
    await newConversation(desk, 'Order B22 arrived damaged, refund it.')
    await untilAsked(theo, 'B22')
    await theo.waitForFunction(async () => {
      await navigator.serviceWorker.ready
      return navigator.serviceWorker.controller !== null
    })
    await site.endServer('SIGTERM')
    await theo.getByText('Server out of reach').waitFor()
    await theo.getByText('The server is out of reach. This is what it showed at').waitFor()
    await approve(theo, 'B22')
    const kept = theo.getByText('is signed and kept on this device. Nothing is decided until the server has taken it.')
    await kept.waitFor()
    await theo.reload()
    await kept.waitFor()
    expect(await theo.getByRole('button', {name: /^Approve/}).count()).toBe(0)
    await site.startServer()
    await theo.getByText('Approved by Theo', {exact: true}).waitFor()
    await kept.waitFor({state: 'detached'})
    await untilRefund(desk, 'B22', 'Refunded')
  })

  test('[APP-1] a role that was lent shows its approvals to the delegate, and with the keyboard alone it is taken back', async () => {
    const ben = await site.openTab('/inbox?as=ben')
    await ben.getByRole('heading', {name: 'Nothing waits for you'}).waitFor()
    await newConversation(desk, 'Order C09 arrived damaged, refund it.')
    await untilAsked(theo, 'C09')
    expect(await ben.getByRole('article').count()).toBe(0)
    await theo.getByText('Lend your role while you are away').click()
    await theo.getByLabel('To', {exact: true}).selectOption('ben')
    await theo.getByRole('button', {name: 'Lend'}).click()
    await untilAsked(ben, 'C09')
    await theo.getByRole('button', {name: 'Take back'}).focus()
    await theo.keyboard.press('Enter')
    await ben.getByRole('article').waitFor({state: 'detached'})
  })

  test.each([390, 1440])('[APP-6] at %i wide nothing runs out of the page, in the dark too', async width => {
    await theo.emulateMedia({colorScheme: 'dark'})
    await theo.setViewportSize({width, height: 900})
    const {scroll, client} = await theo.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      client: document.documentElement.clientWidth,
    }))
    expect(scroll).toBeLessThanOrEqual(client)
  })
})
