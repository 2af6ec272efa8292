import {readFile} from 'node:fs/promises'
import type {Page} from 'playwright-core'
import {expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {untilBarSays} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})

/** A second build: another service worker at the same address, which tells its name to who asks. */
async function publish(name: string): Promise<void> {
  const built = await readFile(new URL('../../../dist/page/sw.js', import.meta.url), 'utf8')
  const naming = `self.addEventListener('message', event => event.data === 'name' && event.source.postMessage('${name}'))`
  site.proxy.add({
    match: ({request}) => request === 'GET /sw.js',
    answer: {status: 200, headers: {'content-type': 'text/javascript'}, body: `${built}\n${naming}\n`},
  })
}

const banner = (page: Page) => page.getByText('A new version of this page is ready.')

/** A click waits for frames, which a tab in the background may not draw. */
async function reloadByBanner(page: Page): Promise<void> {
  await page.bringToFront()
  const reload = page
    .getByRole('status')
    .filter({has: banner(page)})
    .getByRole('button', {name: 'Reload'})
  await Promise.all([page.waitForEvent('load'), reload.click()])
}

const composer = (page: Page) => page.getByLabel('Message to the agent')

async function untilInstalled(page: Page): Promise<void> {
  await page.evaluate(async () => void (await navigator.serviceWorker.ready))
}

const nameOfWorker = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<unknown>(resolve => {
        navigator.serviceWorker.addEventListener('message', ({data}) => resolve(data))
        navigator.serviceWorker.startMessages()
        navigator.serviceWorker.controller?.postMessage('name')
      }),
  )

test('a new build is announced in every tab, of whatever age and page, and one click loads it with the typed text', async () => {
  const uncontrolled = await site.openTab()
  await untilBarSays(uncontrolled, 'Connected')
  await untilInstalled(uncontrolled)
  const [desk, inbox, shop] = [await site.openTab(), await site.openTab('/inbox'), await site.openTab('/shop')]
  await untilBarSays(desk, 'Connected')
  await composer(uncontrolled).fill('typed in the first tab')
  await composer(desk).fill('typed in the second tab')
  await publish('second')
  await desk.evaluate(async () => void (await (await navigator.serviceWorker.ready).update()))
  for (const page of [uncontrolled, desk, inbox, shop]) await banner(page).waitFor()
  await reloadByBanner(desk)
  await untilBarSays(desk, 'Connected')
  expect(await nameOfWorker(desk)).toBe('second')
  expect(await composer(desk).inputValue()).toBe('typed in the second tab')
  expect(await banner(desk).count()).toBe(0)
  // The worker is active now, and the other tabs still show the old build.
  await banner(inbox).waitFor()
  await reloadByBanner(uncontrolled)
  await untilBarSays(uncontrolled, 'Connected')
  expect(await nameOfWorker(uncontrolled)).toBe('second')
  expect(await composer(uncontrolled).inputValue()).toBe('typed in the first tab')
})
