import type {Page} from 'playwright-core'
import {expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {newConversation, transcript, untilBarSays} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})

const composer = (page: Page) => page.getByLabel('Message to the agent')
const said = async (page: Page) => (await transcript(page)).filter(line => line.startsWith('Maya: '))
const sessionOf = (page: Page) => new URL(page.url()).searchParams.get('session')

/** From now on this page deletes no text or id, as one that ends after its message was stored and before it noted that. */
async function takeNoNote(page: Page): Promise<void> {
  await page.evaluate(() => {
    const remove = Storage.prototype.removeItem
    Storage.prototype.removeItem = function (this: Storage, name: string) {
      if (!/^(unsent|send-ids):/.test(name)) Reflect.apply(remove, this, [name])
    }
  })
}

async function sendWithoutNote(page: Page, text: string): Promise<void> {
  await composer(page).fill(text)
  await takeNoNote(page)
  await composer(page).press('Enter')
  await page.getByRole('region', {name: 'Conversation'}).getByText(text, {exact: true}).waitFor()
}

test('[ID-6] two tabs with different texts: each retry after a reload is the same message', async () => {
  const [first, second] = [await site.openTab(), await site.openTab()]
  for (const page of [first, second]) await untilBarSays(page, 'Connected')
  await sendWithoutNote(first, 'Where is order A17?')
  await sendWithoutNote(second, 'Where is order B22?')
  const [ofFirst, ofSecond] = [sessionOf(first), sessionOf(second)]
  expect(ofFirst).not.toBe(ofSecond)
  for (const [page, text, session] of [
    [first, 'Where is order A17?', ofFirst],
    [second, 'Where is order B22?', ofSecond],
  ] as const) {
    await page.goto(`${site.url}/`)
    expect(await composer(page).inputValue()).toBe(text)
    await composer(page).press('Enter')
    await page.waitForURL(url => url.searchParams.get('session') === session)
    await untilBarSays(page, 'Done')
    expect(await said(page)).toEqual([`Maya: ${text}`])
  }
  await first.close()
  await second.close()
})

test('a text whose message the conversation shows leaves the field, and typed again it is a second message', async () => {
  const page = await site.openTab()
  await newConversation(page, 'Where is order C40?')
  await untilBarSays(page, 'Done')
  await sendWithoutNote(page, 'Thank you.')
  await page.reload()
  await page.getByRole('region', {name: 'Conversation'}).getByText('Thank you.', {exact: true}).waitFor()
  await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#composer-text')?.value === '')
  await composer(page).fill('Thank you.')
  await composer(page).press('Enter')
  await page.locator('.entry-message').nth(2).waitFor()
  expect(await said(page)).toEqual(['Maya: Where is order C40?', 'Maya: Thank you.', 'Maya: Thank you.'])
  await page.close()
})
