import type {BrowserContext, Page} from 'playwright-core'

/** The process that renders a page: of this browser's renderers the one that uses most time while the page spins. */
export async function rendererOf(context: BrowserContext, page: Page): Promise<number> {
  const browser = await context.browser()?.newBrowserCDPSession()
  if (!browser) throw new Error('This browser has no session for its processes.')
  const times = async () => {
    const {processInfo} = await browser.send('SystemInfo.getProcessInfo')
    return processInfo.filter(({type}) => type === 'renderer')
  }
  const before = new Map((await times()).map(({id, cpuTime}) => [id, cpuTime]))
  await page.evaluate(() => {
    const end = performance.now() + 1_500
    while (performance.now() < end);
  })
  const used = (await times()).map(({id, cpuTime}) => ({id, time: cpuTime - (before.get(id) ?? 0)}))
  const [busiest] = used.toSorted((a, b) => b.time - a.time)
  await browser.detach()
  if (!busiest) throw new Error('This browser has no renderer.')
  return busiest.id
}
