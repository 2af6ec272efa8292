import type {Page} from 'playwright-core'
import {describe, expect, test} from 'vitest'
import {connect, fixtureSite} from './fixture-site.ts'

const site = fixtureSite()

const insert = (page: Page, id: string) => page.evaluate(id => window.ledger.service.insert(id), id)
const opened = (page: Page) => page.evaluate(() => window.ledger.service.opened())
const ids = (page: Page) => page.evaluate(() => window.ledger.service.ids())

/** As the browser's settings do it, or the developer tools. */
async function clearSiteData(page: Page): Promise<void> {
  const tools = await site.context().newCDPSession(page)
  await tools.send('Storage.clearDataForOrigin', {origin: new URL(page.url()).origin, storageTypes: 'all'})
}

describe("the browser deletes the site's data while a page has the database open", () => {
  test('[LOG-9] what was acknowledged before and after it is there after a reload', async () => {
    const page = await site.openTab('cleared')
    await insert(page, 'before')
    await clearSiteData(page)
    await expect.poll(() => opened(page)).toMatchObject({recovered: 'cleared'})
    expect(await ids(page)).toEqual(['before'])
    await insert(page, 'after')
    await page.reload()
    await connect(page, 'cleared')
    expect(await ids(page)).toEqual(['after', 'before'])
  })

  test('[LOG-9] a write at that very moment is acknowledged only once it is kept', async () => {
    const page = await site.openTab('cleared-writing')
    await page.evaluate(() => void window.insertForever('row'))
    await page.waitForFunction(() => window.acknowledged.length > 5)
    await clearSiteData(page)
    await expect.poll(() => opened(page)).toMatchObject({recovered: 'cleared'})
    const before = await page.evaluate(() => window.acknowledged.length)
    await page.waitForFunction(before => window.acknowledged.length > before + 5, before)
    const acknowledged = await page.evaluate(() => window.acknowledged)
    await page.reload()
    await connect(page, 'cleared-writing')
    const kept = new Set(await ids(page))
    expect(acknowledged.filter(id => !kept.has(id))).toEqual([])
  })
})
