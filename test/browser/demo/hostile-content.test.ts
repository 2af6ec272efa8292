import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {Page} from 'playwright-core'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {launchChromium} from '../../support/chromium.ts'
import {filesWith} from '../../support/scan-files.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, say, untilBarSays, untilReply} from './support/desk-page.ts'
import {untilAsked} from './support/inbox-page.ts'

const site = demoSite({model: 'scripted'})
let desk: Page
const faults: string[] = []

beforeAll(async () => {
  desk = await site.openTab()
  desk.on('pageerror', error => faults.push(String(error)))
  await untilBarSays(desk, 'Connected')
})

const widthBeyond = (page: Page) =>
  page.evaluate(() =>
    Math.max(
      ...[...document.querySelectorAll('body, main, .desk-centre, .conversation, .page')].map(
        element => element.scrollWidth - element.clientWidth,
      ),
    ),
  )

describe('a reply that no Markdown parser survives', () => {
  test.each([
    ['lists', `${'- '.repeat(2000)}end-of-lists`],
    ['quotes', `${'>'.repeat(3000)}end-of-quotes`],
    ['links', `${'['.repeat(5000)}end-of-links`],
    ['one line of 200 kB', `${'W'.repeat(10_000)} end-of-line ${'W'.repeat(190_000)}`],
  ])('%s: is shown as text, also after a reload, and the next message works', async (name, reply) => {
    const asked = `Tell me about ${name}`
    site.model.replies.set(asked, reply)
    site.model.replies.set(`After ${name}`, `Still here after ${name}.`)
    await newConversation(desk, asked)
    await untilReply(desk, reply.slice(0, 100))
    await desk.reload()
    await untilReply(desk, reply.slice(0, 100))
    await say(desk, `After ${name}`)
    await untilReply(desk, `Still here after ${name}.`)
    expect(await widthBeyond(desk)).toBeLessThanOrEqual(1)
  })

  test('no page reported an error that nobody caught', () => {
    expect(faults).toEqual([])
  })
})

describe('a conversation that a page did not survive', () => {
  test('is not opened by the next page, which offers it as plain text', async () => {
    const address = new URL(desk.url())
    const session = address.searchParams.get('session') ?? ''
    const page = await site.openTab('/shop')
    await page.evaluate(id => localStorage.setItem('showing:gone', `${id} 0`), session)
    await page.goto(`${site.url}/?session=${session}`)
    await page.getByRole('heading', {name: 'This conversation stopped the page last time'}).waitFor()
    await page.getByRole('link', {name: 'Open as plain text'}).click()
    await page.getByText('Still here after one line').waitFor()
    await page.getByRole('link', {name: 'Show it as usual'}).click()
    await page.getByRole('button', {name: 'Try again'}).click()
    await untilReply(page, 'Still here after one line')
    await page.close()
  })
})

describe('what is typed', () => {
  test('is not sent by Enter of an input method, by whichever sign it says so', async () => {
    const composer = desk.getByLabel('Message to the agent')
    await composer.fill('Half a word')
    await composer.evaluate(field => {
      for (const sign of [{keyCode: 229}, {isComposing: true}]) {
        field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true, ...sign}))
      }
    })
    expect(await composer.inputValue()).toBe('Half a word')
    expect(await desk.locator('.bubble').filter({hasText: 'Half a word'}).count()).toBe(0)
    await composer.fill('')
  })

  test('stays in the composer when it is too long to be sent, and is told the limit', async () => {
    const composer = desk.getByLabel('Message to the agent')
    const text = 'x'.repeat(6_000_000)
    await composer.evaluate((field: HTMLTextAreaElement, value) => {
      Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')?.set?.call(field, value)
      field.dispatchEvent(new InputEvent('input', {bubbles: true}))
    }, text)
    await composer.press('Enter')
    await desk.getByText('This text has 6,000,000 characters; at most 16,000 can be sent.').waitFor()
    expect((await composer.inputValue()).length).toBe(text.length)
    await composer.fill('')
    expect(faults).toEqual([])
  })

  test('[WRK-2] stays in a document that cannot hold it, and is told the limit', async () => {
    const draft = desk.getByLabel('Reply to the customer')
    const text = 'y'.repeat(1_500_000)
    await draft.evaluate((field: HTMLTextAreaElement, value) => {
      field.value = value
      field.dispatchEvent(new InputEvent('input', {bubbles: true}))
    }, text)
    await desk.getByText('This text has 1,500,000 characters; a document holds at most 100,000.').waitFor()
    expect((await draft.inputValue()).length).toBe(text.length)
    await draft.fill('Dear Lena,')
    await desk.reload()
    await expect.poll(() => desk.getByLabel('Reply to the customer').inputValue()).toBe('Dear Lena,')
    expect(faults).toEqual([])
  })
})

describe('an address of nothing', () => {
  test.each([
    ['/?session=garbage', 'This address names no conversation'],
    ['/?session=ses_01890000-0000-7000-8000-000000000000', 'There is no such conversation, or it is not yours'],
    ['/nope', 'There is no page at this address'],
  ])('%s says so and shows a way on', async (path, title) => {
    const page = await site.openTab(path)
    await page.getByRole('heading', {name: title}).waitFor()
    expect(await page.locator('.skeleton').count()).toBe(0)
    await page
      .getByRole('link', {name: path === '/nope' ? 'Desk' : 'New conversation'})
      .last()
      .click()
    await page.getByLabel('Message to the agent').waitFor()
    await page.close()
  })
})

describe('a reason that would hide or spill', () => {
  test('stays within its card on every width, and what is hidden in it is written out', async () => {
    site.model.reason = `${'W'.repeat(300)} \u202e\u200be${'\u0301'.repeat(60)}`
    await newConversation(desk, 'Refund 6000 cents of B22')
    const inbox = await site.openTab('/inbox')
    await untilAsked(inbox, 'B22')
    const card = inbox.getByRole('article', {name: /B22/})
    await card.getByText('Exactly what will be executed').click()
    expect(await card.locator('.refund-reason').textContent()).toContain('⟨U+202E⟩⟨U+200B⟩')
    expect(await card.locator('.raw').textContent()).toContain('\\u202e\\u200b')
    for (const width of [390, 1440]) {
      await inbox.setViewportSize({width, height: 900})
      await desk.setViewportSize({width, height: 900})
      expect(await widthBeyond(inbox)).toBeLessThanOrEqual(1)
      expect(await widthBeyond(desk)).toBeLessThanOrEqual(1)
    }
    await inbox.close()
  })
})

describe('the files in which a browser keeps a session', () => {
  let profile: string

  beforeAll(async () => {
    profile = await mkdtemp(join(tmpdir(), 'holdfast-profile-'))
  })
  afterAll(() => rm(profile, {recursive: true, force: true, maxRetries: 5}))

  test('[RET-3] hold nothing that was typed into a field', async () => {
    const words = 'Canary-in-a-field'
    const chromium = await launchChromium({profile})
    const page = await chromium.context.newPage()
    await page.goto(site.url)
    await newConversation(page, 'Refund 6001 cents of C09')
    await page.getByLabel('Reply to the customer').fill(`${words}-draft`)
    await page.getByLabel('Message to the agent').fill(`${words}-message`)
    await page.getByRole('link', {name: 'Memory'}).click()
    await page.goto(`${site.url}/inbox`)
    await page.getByLabel('Note (optional)').first().fill(`${words}-note`)
    await page.goto(`${site.url}/shop`)
    await page.getByRole('heading', {name: 'Shop'}).waitFor()
    await chromium.close()
    const sessions = join(profile, 'Default', 'Sessions')
    expect(await filesWith(sessions, site.url)).not.toEqual([])
    for (const text of [words, Buffer.from(words, 'utf16le').toString('latin1')]) {
      expect(await filesWith(sessions, text)).toEqual([])
    }
  })
})
