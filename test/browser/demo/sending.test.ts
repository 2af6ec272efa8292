import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {openClosedTab} from './support/closed-tab.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, transcript, untilBarSays} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})
let session: string

beforeAll(async () => {
  const page = await site.openTab()
  await newConversation(page, 'Where is order A17?')
  await untilBarSays(page, 'Done')
  session = new URL(page.url()).searchParams.get('session') ?? ''
  await page.close()
})

const composer = (page: Page) => page.getByLabel('Message to the agent')
const waiting = (page: Page) => page.getByText('This is sent as soon as the conversation is open.')

async function press(page: Page, text: string): Promise<void> {
  await composer(page).fill(text)
  await composer(page).press('Enter')
  await waiting(page).waitFor()
}

async function untilSent(page: Page): Promise<void> {
  await waiting(page).waitFor({state: 'detached'})
  await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#composer-text')?.value === '')
}

const said = async (page: Page) => (await transcript(page)).filter(line => line.startsWith('Maya: '))

describe('a message sent before the desk is open', () => {
  test('[RUN-3] waits in sight, and goes to the conversation that it was typed for', async () => {
    const {page, letGo} = await openClosedTab(site, `/?session=${session}`)
    await press(page, 'And where is B22?')
    expect(await composer(page).inputValue()).toBe('And where is B22?')
    await letGo()
    await untilSent(page)
    expect(new URL(page.url()).searchParams.get('session')).toBe(session)
    await page.getByRole('region', {name: 'Conversation'}).getByText('And where is B22?').waitFor()
    expect(await said(page)).toEqual(['Maya: Where is order A17?', 'Maya: And where is B22?'])
    await page.close()
  })

  test('[LOG-3] begins one conversation with one message, however often Enter is pressed', async () => {
    const {page, letGo} = await openClosedTab(site, '/')
    await press(page, 'Where is order C40?')
    await composer(page).press('Enter')
    await composer(page).press('Enter')
    await letGo()
    await untilSent(page)
    await page.waitForURL(url => url.searchParams.get('session') !== null)
    await untilBarSays(page, 'Done')
    expect(await said(page)).toEqual(['Maya: Where is order C40?'])
    await page.close()
  })

  test('[RUN-3] stays with its conversation while another one is looked at', async () => {
    const {page, letGo} = await openClosedTab(site, `/?session=${session}`)
    await press(page, 'Thank you.')
    await page.getByRole('button', {name: 'New conversation'}).click()
    await waiting(page).waitFor({state: 'detached'})
    expect(await composer(page).inputValue()).toBe('')
    await composer(page).fill('Something else')
    await letGo()
    await page.goBack()
    await page.getByText('Thank you.', {exact: true}).waitFor()
    await untilSent(page)
    expect((await said(page)).at(-1)).toBe('Maya: Thank you.')
    await page.getByRole('button', {name: 'New conversation'}).click()
    expect(await composer(page).inputValue()).toBe('Something else')
    await composer(page).fill('')
    await page.close()
  })

  test('[RUN-9] to a conversation that does not exist stays in the field, and begins nothing', async () => {
    const {page, letGo} = await openClosedTab(site, '/?session=ses_01a2293e-cf2c-766e-b3d8-665b9d715c52')
    await press(page, 'Is anybody there?')
    await letGo()
    await page.getByRole('alert').first().waitFor()
    expect(await composer(page).inputValue()).toBe('Is anybody there?')
    expect(new URL(page.url()).searchParams.get('session')).toBe('ses_01a2293e-cf2c-766e-b3d8-665b9d715c52')
    await page.close()
  })

  test('[RUN-3] can be taken back', async () => {
    const {page, letGo} = await openClosedTab(site, `/?session=${session}`)
    await press(page, 'Never mind.')
    await page.getByRole('button', {name: 'Take back'}).click()
    await waiting(page).waitFor({state: 'detached'})
    await letGo()
    await page.locator('.entry-message').first().waitFor()
    expect(await composer(page).inputValue()).toBe('Never mind.')
    expect(await said(page)).not.toContain('Maya: Never mind.')
    await page.close()
  })
})
