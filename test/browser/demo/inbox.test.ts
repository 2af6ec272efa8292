import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {faultsOf} from './support/axe.ts'
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

test('[CUS-2] the approvals and the shop start no worker, so neither comes to own the database of the desk', async () => {
  const shop = await site.openTab('/shop')
  await shop.getByRole('table', {name: 'Orders'}).waitFor()
  await theo.getByRole('heading', {name: 'Nothing waits for you'}).waitFor()
  expect([desk, theo, ines, shop].map(page => page.workers().length)).toEqual([1, 0, 0, 0])
  await shop.close()
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

describe('the devices that may decide without a connection', () => {
  const panel = () => theo.locator('details', {hasText: 'Deciding without a connection'})
  const press = async (name: string | RegExp) => {
    const button = panel().getByRole('button', {name})
    await button.focus()
    await theo.keyboard.press('Enter')
  }

  test('[APP-4] this one is listed, and without an accessibility fault', async () => {
    await theo.setViewportSize({width: 1280, height: 900})
    await panel().locator('summary').press('Enter')
    await panel().getByText('This device can decide offline').waitFor()
    await panel().getByText('Chrome on Linux, this device').waitFor()
    expect(await faultsOf(theo)).toEqual([])
  })

  test('[APP-4] revoked by keyboard it decides nothing offline, says so, and does not come back by itself', async () => {
    await newConversation(desk, 'Order D11 arrived damaged, refund it.')
    await untilAsked(theo, 'D11')
    await press(/^Revoke .*this device$/)
    await panel().getByText('This device cannot decide offline').waitFor()
    await theo.reload()
    await untilAsked(theo, 'D11')
    await panel().locator('summary').press('Enter')
    await panel()
      .getByText(/^revoked/)
      .waitFor()
    await panel().getByText('This device cannot decide offline').waitFor()
    await site.endServer('SIGTERM')
    await theo.getByText('This device cannot decide offline, so decisions have to wait').waitFor()
    const card = theo.getByRole('article', {name: /for order D11$/})
    expect(await card.getByRole('button', {name: /^Approve/}).isDisabled()).toBe(true)
    await panel().getByText('Devices can be added and revoked when the server is back.').waitFor()
    expect(await faultsOf(theo)).toEqual([])
    await site.startServer()
  })

  test('[APP-4] added again under a name of its own it can', async () => {
    await theo.getByText('Connected').waitFor()
    await panel().getByLabel('Its name').fill('Office')
    await press('Add this device')
    await panel().getByText('Office, this device').waitFor()
    await site.endServer('SIGTERM')
    await theo.getByText('What you decide now is signed and kept').waitFor()
    await approve(theo, 'D11')
    await theo.getByText('is signed and kept on this device.').waitFor()
    await site.startServer()
    await untilRefund(desk, 'D11', 'Refunded')
  })
})
