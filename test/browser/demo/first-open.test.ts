import type {Page} from 'playwright-core'
import {afterEach, describe, expect, test} from 'vitest'
import {type LaunchedChromium, launchChromium} from '../../support/chromium.ts'
import {demoSite} from './support/demo-site.ts'
import {transcript, untilBarSays} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})
const browsers: LaunchedChromium[] = []

/** A browser that has never opened the desk. */
async function newBrowser(): Promise<Page> {
  const browser = await launchChromium()
  browsers.push(browser)
  return await browser.context.newPage()
}

afterEach(async () => {
  for (const browser of browsers.splice(0)) await browser.close()
})

const html = {'content-type': 'text/html'}
const login = {status: 200, headers: html, body: '<!doctype html><title>Sign in</title>'}
const isServer = (request: string) => /^\w+ \/(demo|v1)\//.test(request)

describe('first open while something else answers in place of the server', () => {
  test.for([
    ['a login page', login, 'A page that is not from the server was the answer'],
    ['status 401', {status: 401, headers: html, body: '<h1>401</h1>'}, 'The answer has status 401'],
    ['status 502', {status: 502, headers: html, body: '<h1>502</h1>'}, 'The answer has status 502'],
  ] as const)(
    '%s: it is named, and the message is sent by itself when the server answers',
    async ([, answer, words]) => {
      const heal = site.proxy.add({match: ({request}) => isServer(request), answer})
      const page = await newBrowser()
      await page.goto(`${site.url}/`)
      await page.getByRole('status').filter({hasText: words}).waitFor()
      await page.getByLabel('Message to the agent').fill('Where is order A17?')
      await page.getByLabel('Message to the agent').press('Enter')
      await page.getByText('The server cannot be reached. This is sent as soon as it answers.').waitFor()
      heal()
      await page.waitForURL(url => url.searchParams.get('session') !== null)
      await untilBarSays(page, 'Done')
      expect((await transcript(page)).filter(line => line.startsWith('Maya: '))).toEqual(['Maya: Where is order A17?'])
    },
  )

  test('a proxy that breaks /v1 alone is named, and heals', async () => {
    const answer = {status: 503, headers: html, body: '<h1>503</h1>'}
    const heal = site.proxy.add({match: ({request}) => / \/v1\//.test(request), answer})
    const page = await newBrowser()
    await page.goto(`${site.url}/`)
    await page.getByRole('status').filter({hasText: 'The answer has status 503'}).waitFor()
    heal()
    await untilBarSays(page, 'Connected')
    expect(await page.getByText('The answer has status 503').count()).toBe(0)
  })
})

describe('first open while a part of the program is answered with 502', () => {
  test.for(['wasm', 'data', 'bin'])('.%s: it is named, and Try again opens the desk', async type => {
    const heal = site.proxy.add({
      match: ({request}) => new RegExp(`^GET .*\\.${type}$`).test(request),
      answer: {status: 502, headers: html, body: '<h1>502</h1>'},
    })
    const page = await newBrowser()
    await page.goto(`${site.url}/`)
    const note = page.getByRole('alert').filter({hasText: 'The desk cannot open yet'})
    await note.filter({hasText: 'A part of the program could not be fetched (502).'}).waitFor()
    heal()
    await note.getByRole('button', {name: 'Try again'}).click()
    await untilBarSays(page, 'Connected')
  })
})
