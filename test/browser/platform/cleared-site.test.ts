import type {Page} from 'playwright-core'
import {describe, expect, test} from 'vitest'
import {connect, fixtureSite, untilAcknowledged} from './fixture-site.ts'

const site = fixtureSite()

const insert = (page: Page, id: string) => page.evaluate(id => window.ledger.service.insert(id), id)
const opened = (page: Page) => page.evaluate(() => window.ledger.service.opened())
const ids = (page: Page) => page.evaluate(() => window.ledger.service.ids())

/** As the browser's settings do it, or the developer tools. */
async function clearSiteData(page: Page): Promise<void> {
  const tools = await site.context().newCDPSession(page)
  await tools.send('Storage.clearDataForOrigin', {origin: new URL(page.url()).origin, storageTypes: 'all'})
}

/** As a page of the same origin can do it; Chromium refuses what is open, and may have removed the rest by then. */
const removeFiles = (page: Page) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    return root.removeEntry('holdfast', {recursive: true}).then(
      () => 'removed',
      error => String(error.name),
    )
  })

/** Each file and folder that can be removed, one by one, the deepest first. */
const removeEach = (page: Page) =>
  page.evaluate(async () => {
    const removed: string[] = []
    const empty = async (folder: FileSystemDirectoryHandle, path: string) => {
      const entries = folder as unknown as {values(): AsyncIterable<FileSystemHandle>}
      for await (const entry of entries.values()) {
        const name = `${path}/${entry.name}`
        if (entry.kind === 'directory') await empty(entry as FileSystemDirectoryHandle, name)
        await folder.removeEntry(entry.name, {recursive: true}).then(
          () => removed.push(name),
          () => undefined,
        )
      }
    }
    await empty(await navigator.storage.getDirectory(), '')
    return removed
  })

describe('a page removes the files of the database while it is open', () => {
  test.each([
    ['at once', removeFiles],
    ['one by one', removeEach],
  ])('[LOG-9] %s: what was acknowledged before and after it is there after a reload', async (how, remove) => {
    const name = `removed-${how.replaceAll(' ', '-')}`
    const page = await site.openTab(name)
    await insert(page, 'before')
    await remove(page)
    await insert(page, 'after')
    await page.reload()
    await connect(page, name)
    expect(await ids(page)).toEqual(['after', 'before'])
    expect(await opened(page)).toMatchObject({kept: ['before', 'after']})
  })
})

describe('the data of a site that has only IndexedDB is deleted while a page has the database open', () => {
  test('[LOG-9] what was acknowledged and not sent is kept in a new outbox, and the next opening is told', async () => {
    const page = await site.openTab('cleared-idb', {withoutOpfs: true})
    await insert(page, 'before')
    await clearSiteData(page)
    await expect.poll(() => opened(page)).toMatchObject({storage: 'indexeddb', recovered: 'cleared', kept: ['before']})
    await insert(page, 'after')
    await page.reload()
    await connect(page, 'cleared-idb', {withoutOpfs: true})
    expect(await opened(page)).toMatchObject({storage: 'indexeddb', kept: ['before', 'after']})
    expect(await ids(page)).toContain('after')
  })

  test.each([
    ['with one tab', 1],
    ['with two tabs', 2],
  ])(
    '[LOG-9] in the middle of a write, %s: the next opening says so and has what was acknowledged',
    async (how, tabs) => {
      const name = `cleared-idb-${how.replaceAll(' ', '-')}`
      const page = await site.openTab(name, {withoutOpfs: true})
      const other = tabs > 1 ? await site.openTab(name, {withoutOpfs: true}) : page
      await page.evaluate(() => void window.insertForever('row'))
      await untilAcknowledged(page, 4)
      await clearSiteData(page)
      await expect.poll(() => opened(other)).toMatchObject({recovered: 'cleared'})
      await untilAcknowledged(page, 4)
      const acknowledged = await page.evaluate(() => window.acknowledged)
      await other.close()
      const next = await site.openTab(name, {withoutOpfs: true})
      await page.close()
      const {kept} = await opened(next)
      expect(acknowledged.filter(id => !kept.includes(id))).toEqual([])
    },
  )
})

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
    await untilAcknowledged(page, 6)
    await clearSiteData(page)
    await expect.poll(() => opened(page)).toMatchObject({recovered: 'cleared'})
    await untilAcknowledged(page, 6)
    const acknowledged = await page.evaluate(() => window.acknowledged)
    await page.reload()
    await connect(page, 'cleared-writing')
    const kept = new Set(await ids(page))
    expect(acknowledged.filter(id => !kept.has(id))).toEqual([])
  })
})
