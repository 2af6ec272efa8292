import type {Page} from 'playwright-core'
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest'
import {buildPage} from '../../support/build-page.ts'
import {type LaunchedChromium, launchChromium} from '../../support/chromium.ts'
import {type ServedFolder, serveFolder} from '../../support/serve-folder.ts'

let browser: LaunchedChromium
let site: ServedFolder
beforeAll(async () => {
  site = await serveFolder(await buildPage(new URL('./fixture', import.meta.url).pathname))
  browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})
afterEach(async () => {
  for (const page of browser.context.pages()) await page.close()
})

async function openTab(name: string): Promise<Page> {
  const page = await browser.context.newPage()
  page.on('console', m => console.log(m.text()))
  page.on('pageerror', m => console.log(m))
  await page.goto(site.url)
  await page.evaluate(db => void window.connect(db), name)
  return page
}

describe('one', () => {
  test('opens', async () => {
    const page = await openTab('first')
    console.log(await page.evaluate(() => window.ledger.service.opened()))
    console.log(site.takeRequests())
    const b = await openTab('first')
    await b.evaluate(() => window.ledger.service.insert('a'))
    console.log(
      await b.evaluate(() => [window.ledger.role()]),
      await page.evaluate(async () => [window.ledger.role(), await window.ledger.service.ids()]),
    )
    expect(1).toBe(1)
  })
})
