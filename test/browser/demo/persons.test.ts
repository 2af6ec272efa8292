import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {newConversation, switchConnection, untilBarSays, untilSynced} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})
let first: Page
let second: Page

async function openPersonPanel(page: Page): Promise<void> {
  await page.getByRole('tab', {name: 'This device'}).click()
  await page.getByRole('region', {name: 'Person'}).waitFor()
}

async function become(page: Page, name: string): Promise<void> {
  await openPersonPanel(page)
  await page.getByRole('region', {name: 'Person'}).getByRole('combobox').selectOption(name.toLowerCase())
  await untilSignedIn(page, name)
}

async function untilSignedIn(page: Page, name: string): Promise<void> {
  await openPersonPanel(page)
  await page.getByRole('region', {name: 'Person'}).getByText(`${name} is signed in.`).waitFor()
}

const bodyOf = (page: Page) => page.evaluate(() => document.body.textContent ?? '')

/** Every text that was ever on the page from now on. */
async function watchTexts(page: Page, wanted: string): Promise<() => Promise<boolean>> {
  await page.evaluate(text => {
    const seen = {found: false}
    Object.assign(globalThis, {seen})
    const look = () => {
      if (document.body.textContent?.includes(text)) seen.found = true
    }
    new MutationObserver(look).observe(document.body, {childList: true, subtree: true, characterData: true})
  }, wanted)
  return () => page.evaluate(() => (globalThis as unknown as {seen: {found: boolean}}).seen.found)
}

beforeAll(async () => {
  first = await site.openTab()
  await untilBarSays(first, 'Connected')
})

describe('[ID-6] two persons at one browser', () => {
  test('what one wrote offline is never shown to the other, in any tab, and is sent when the first is back', async () => {
    await newConversation(first, 'Online words of Maya')
    await untilSynced(first)
    await switchConnection(first, false)
    await newConversation(first, 'Private words of Maya')
    second = await site.openTab(`/${new URL(first.url()).search}`)
    await second.getByText('Private words of Maya').first().waitFor()
    await openPersonPanel(first)
    await first.getByText(/entries have not reached the server/).waitFor()
    await become(first, 'Ben')
    await untilSignedIn(second, 'Ben')
    const seenLater = await watchTexts(second, 'Private words')
    await untilBarSays(first, 'Connected')
    await newConversation(first, 'Words of Ben')
    await second.getByText('Words of Ben').first().waitFor()
    for (const page of [first, second]) expect(await bodyOf(page)).not.toContain('words of Maya')
    expect(await seenLater()).toBe(false)
    const reloaded = await site.openTab()
    await reloaded.getByText('Words of Ben').first().waitFor()
    expect(await bodyOf(reloaded)).not.toContain('words of Maya')
    await reloaded.close()
    await become(first, 'Maya')
    await first.getByText('Private words of Maya').first().waitFor()
    await switchConnection(first, true)
    await first.getByRole('region', {name: 'Person'}).getByText('Everything has reached the server.').waitFor()
    expect(await bodyOf(first)).not.toContain('Words of Ben')
  })

  test('after a sign-out the page shows nobody’s conversations, and offline the last person is known without a token', async () => {
    await openPersonPanel(first)
    await first.getByRole('button', {name: 'Sign out'}).click()
    for (const page of [first, second]) {
      await openPersonPanel(page)
      await page.getByText('Nobody is signed in.').waitFor()
      await page.getByRole('heading', {name: 'You are signed out'}).waitFor()
      expect(await page.getByLabel('Message to the agent').count()).toBe(0)
      expect(await bodyOf(page)).not.toContain('words of')
    }
    await become(first, 'Maya')
    await first.getByText('Private words of Maya').first().waitFor()
  })

  test('wiping asks first, works while another tab is open, and leaves what others have', async () => {
    await openPersonPanel(first)
    await first.getByRole('button', {name: 'Delete from this browser'}).click()
    const dialog = first.getByRole('alertdialog')
    await dialog.getByText('What the server has stays there.').waitFor()
    await first.keyboard.press('Escape')
    await dialog.waitFor({state: 'hidden'})
    await first.getByRole('button', {name: 'Delete from this browser'}).click()
    await dialog.getByRole('button', {name: 'Delete for good'}).click()
    await dialog.waitFor({state: 'hidden'})
    await openPersonPanel(second)
    await second.getByText('Nobody is signed in.').waitFor()
    const folders = await first.evaluate(async () => {
      const root = await (await navigator.storage.getDirectory()).getDirectoryHandle('holdfast')
      const names: string[] = []
      for await (const name of (root as unknown as {keys(): AsyncIterable<string>}).keys()) names.push(name)
      return names
    })
    expect(folders).toHaveLength(1)
    await become(first, 'Ben')
    await first.getByText('Words of Ben').first().waitFor()
  })
})
