import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {faultsOf} from './support/axe.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, say, untilBarSays, untilRefund} from './support/desk-page.ts'
import {approve, untilAsked} from './support/inbox-page.ts'

const site = demoSite({model: 'rules'})

describe('no serious or critical accessibility fault', () => {
  let desk: Page
  let inbox: Page

  beforeAll(async () => {
    desk = await site.openTab()
    inbox = await site.openTab('/inbox')
  })

  test('on the empty desk', async () => {
    await desk.getByRole('heading', {name: 'What does the customer need?'}).waitFor()
    expect(await faultsOf(desk)).toEqual([])
  })

  test('on the address of no conversation, which says so and shows a way on', async () => {
    const page = await site.openTab('/?session=ses_01890000-0000-7000-8000-000000000000')
    await page.getByRole('heading', {name: 'There is no such conversation, or it is not yours'}).waitFor()
    await page.getByRole('link', {name: 'New conversation'}).waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.close()
  })

  test('on the empty inbox', async () => {
    await inbox.getByRole('heading', {name: 'Nothing waits for you'}).waitFor()
    expect(await faultsOf(inbox)).toEqual([])
  })

  test('on the empty memory', async () => {
    const memory = await site.openTab('/memory')
    await memory.getByRole('heading', {name: 'Nothing is remembered yet'}).waitFor()
    expect(await faultsOf(memory)).toEqual([])
  })

  test('on the desk in the middle of a conversation', async () => {
    await newConversation(desk, 'The mug in A17 arrived broken.')
    await untilBarSays(desk, 'Done')
    await desk.locator('details.tool summary').first().click()
    expect(await faultsOf(desk)).toEqual([])
  })

  test('[VIEW-2] on what the model saw, reached by keyboard alone', async () => {
    const more = desk.locator('.entry-reply').last().getByRole('button', {name: 'More about this entry'})
    await more.press('Enter')
    await desk.getByRole('menuitem', {name: 'What the model saw'}).press('Enter')
    const dialog = desk.getByRole('dialog', {name: 'What the model saw at this step'})
    await dialog.getByText('exactly the bytes').waitFor()
    await dialog.getByRole('heading', {name: 'Instructions'}).waitFor()
    expect(await faultsOf(desk)).toEqual([])
    await desk.keyboard.press('Escape')
    await dialog.waitFor({state: 'detached'})
  })

  test('[WRK-2] on the plan, which the agent has written into', async () => {
    await desk.getByRole('tab', {name: 'Plan'}).click()
    await desk.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('.draft-text')?.value.includes('A17'))
    expect(await faultsOf(desk, [1440])).toEqual([])
    await desk.getByRole('tab', {name: 'Reply'}).click()
  })

  test('on the desk while it waits for approval', async () => {
    await say(desk, 'Order B22 arrived damaged, refund it.')
    await untilRefund(desk, 'B22', 'Waiting for approval')
    expect(await faultsOf(desk)).toEqual([])
  })

  test.for(['Conversations', 'Reply and details'])('on a phone with "%s" drawn in', async title => {
    await desk.setViewportSize({width: 390, height: 900})
    await desk.getByRole('button', {name: title}).click()
    await desk.getByRole('dialog', {name: title}).waitFor()
    expect(await faultsOf(desk, [390])).toEqual([])
    await desk.getByRole('dialog').getByRole('button', {name: 'Close'}).click()
    await desk.getByRole('dialog').waitFor({state: 'detached'})
  })

  test('on the inbox with something to decide, and afterwards', async () => {
    await untilAsked(inbox, 'B22')
    expect(await faultsOf(inbox)).toEqual([])
    await approve(inbox, 'B22')
    await inbox.getByText('Approved by Theo').waitFor()
    expect(await faultsOf(inbox)).toEqual([])
  })

  test('on the shop', async () => {
    await untilRefund(desk, 'B22', 'Refunded')
    const shop = await site.openTab('/shop')
    await shop.getByRole('cell', {name: '€213.50'}).first().waitFor()
    expect(await faultsOf(shop)).toEqual([])
  })

  test('on the desk when something has gone wrong', async () => {
    await desk.locator('#composer-text').fill('x'.repeat(20_000))
    await desk.getByText('This text has 20,000 characters; at most 16,000 can be sent.').waitFor()
    expect(await faultsOf(desk)).toEqual([])
  })
})

describe('the policy of the page', () => {
  test('allows no inline script, and a whole conversation breaks none of it', async () => {
    const response = await fetch(site.url)
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/script-src 'self' 'wasm-unsafe-eval'(;|$)/)
    expect(policy).not.toContain('unsafe-inline')
    expect(await response.text()).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=|<style/)
    expect(site.proxy.violations).toEqual([])
  })

  test('is one that a browser enforces and reports on', async () => {
    const shop = await site.openTab('/shop')
    const ran = await shop.evaluate(() => {
      const script = document.createElement('script')
      script.textContent = 'document.title = "ran"'
      document.body.append(script)
      return document.title === 'ran'
    })
    expect(ran).toBe(false)
    await expect.poll(() => site.proxy.violations.length).toBeGreaterThan(0)
  })
})
