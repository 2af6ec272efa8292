import {fileURLToPath} from 'node:url'
import type {BrowserContext, Page} from 'playwright-core'
import {afterAll, afterEach, beforeAll, expect} from 'vitest'
import {buildPage} from '../../support/build-page.ts'
import {type LaunchedChromium, launchChromium} from '../../support/chromium.ts'
import {type ServedFolder, serveFolder} from '../../support/serve-folder.ts'
import type {LedgerConfig} from './fixture/ledger.ts'

export interface FixtureSite {
  /** A new tab whose page is connected to the database called `name`. */
  openTab(name: string, config?: LedgerConfig & {deadlineMs?: number; build?: string}): Promise<Page>
  /** A new tab that is connected to nothing. */
  openBlank(): Promise<Page>
  takeRequests(): string[]
  context(): BrowserContext
}

/** Builds and serves the fixture page for the tests of one file, in one browser profile. */
export function fixtureSite(options: {bfcache?: boolean} = {}): FixtureSite {
  let browser: LaunchedChromium
  let site: ServedFolder

  beforeAll(async () => {
    site = await serveFolder(await buildPage(fileURLToPath(new URL('./fixture', import.meta.url))))
    browser = await launchChromium(options)
  })
  afterEach(async () => {
    await Promise.all(browser.context.pages().map(page => page.close()))
  })
  afterAll(async () => {
    await browser?.close()
    await site?.close()
  })

  async function openBlank(): Promise<Page> {
    const page = await browser.context.newPage()
    await page.goto(site.url)
    return page
  }

  return {
    openBlank,
    takeRequests: () => site.takeRequests(),
    context: () => browser.context,
    async openTab(name, config) {
      const page = await openBlank()
      await connect(page, name, config)
      return page
    },
  }
}

export function connect(
  page: Page,
  name: string,
  config?: LedgerConfig & {deadlineMs?: number; build?: string},
): Promise<void> {
  return page.evaluate(([name, config]) => void window.connect(name, config), [name, config] as const)
}

export async function untilRole(page: Page, role: 'leader' | 'follower'): Promise<void> {
  await page.waitForFunction(wanted => window.ledger.role() === wanted, role, {polling: 20})
}

/**
 * Waits until `page` has `more` further acknowledged writes. Polls from here: Chromium may draw no frames of a background
 * tab, and `waitForFunction` checks once a frame by default.
 */
export async function untilAcknowledged(page: Page, more: number): Promise<void> {
  const count = () => page.evaluate(() => window.acknowledged.length)
  const before = await count()
  await expect.poll(count).toBeGreaterThanOrEqual(before + more)
}

/** Two tabs, the first of which leads. */
export async function openPair(site: FixtureSite, name: string): Promise<[leader: Page, follower: Page]> {
  const leader = await site.openTab(name)
  await untilRole(leader, 'leader')
  const follower = await site.openTab(name)
  await untilRole(follower, 'follower')
  return [leader, follower]
}
