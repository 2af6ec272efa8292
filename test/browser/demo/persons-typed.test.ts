import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {openClosedTab} from './support/closed-tab.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, untilBarSays} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})
let first: Page

async function openPersonPanel(page: Page): Promise<void> {
  // A click waits for frames, which a tab in the background does not draw.
  await page.bringToFront()
  await page.getByRole('tab', {name: 'This device'}).click()
  await page.getByRole('region', {name: 'Person'}).waitFor()
}

async function become(page: Page, name: string): Promise<void> {
  await openPersonPanel(page)
  await page.getByRole('region', {name: 'Person'}).getByRole('combobox').selectOption(name.toLowerCase())
  await untilSignedIn(page, name)
}

/** The page starts again when its person changes, and then another panel is open. */
async function untilSignedIn(page: Page, name: string): Promise<void> {
  const panel = page.getByRole('region', {name: 'Person'})
  const shown = async () => {
    await page.bringToFront()
    await page.getByRole('tab', {name: 'This device'}).click()
    return await panel.textContent({timeout: 1_000}).catch(() => null)
  }
  await expect.poll(shown).toContain(`${name} is signed in.`)
}

const bodyOf = (page: Page) => page.evaluate(() => document.body.textContent ?? '')

beforeAll(async () => {
  first = await site.openTab()
  await untilBarSays(first, 'Connected')
})

describe('[ID-6] what one person typed and did not send', () => {
  const field = (page: Page) => page.getByLabel('Message to the agent')

  test('is not sent for the next person while it waits, and is there when the first is back', async () => {
    await become(first, 'Maya')
    const {page, letGo} = await openClosedTab(site, '/')
    await field(page).fill('Typed by Maya')
    await field(page).press('Enter')
    await page.getByText('This is sent as soon as the conversation is open.').waitFor()
    await become(first, 'Ben')
    await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#composer-text')?.value === '')
    await letGo()
    await untilSignedIn(page, 'Ben')
    await newConversation(page, 'Typed by Ben')
    await page.getByRole('region', {name: 'Conversation'}).getByText('Typed by Ben').waitFor()
    await untilBarSays(page, 'Done')
    for (const each of [first, page]) expect(await bodyOf(each)).not.toContain('Typed by Maya')
    await become(page, 'Maya')
    await page.getByRole('button', {name: 'New conversation'}).click()
    expect(await field(page).inputValue()).toBe('Typed by Maya')
    await page.close()
  })

  test('is deleted with the data of this person, and stays of others', async () => {
    await untilSignedIn(first, 'Maya')
    await first.getByRole('button', {name: 'Delete from this browser'}).click()
    await first.getByRole('alertdialog').getByRole('button', {name: 'Delete for good'}).click()
    await first.getByRole('alertdialog').waitFor({state: 'hidden'})
    const stored = () => first.evaluate(() => JSON.stringify(Object.entries(localStorage)))
    await expect.poll(stored).not.toContain('Typed by Maya')
  })
})
