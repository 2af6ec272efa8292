import type {Page} from 'playwright-core'
import type {DemoSite} from './demo-site.ts'

/** A tab whose worker hears nothing until `letGo`, so that the desk stays closed for as long as a test needs. */
export async function openClosedTab(site: DemoSite, path: string): Promise<{page: Page; letGo(): Promise<void>}> {
  const page = await site.context.newPage()
  await page.addInitScript(() => {
    const post = Worker.prototype.postMessage
    const held: [Worker, unknown[]][] = []
    let open = false
    const send = (worker: Worker, args: unknown[]) => Reflect.apply(post, worker, args)
    Worker.prototype.postMessage = function (this: Worker, ...args: unknown[]) {
      if (open) send(this, args)
      else held.push([this, args])
    }
    Reflect.set(window, 'letWorkerGo', () => {
      open = true
      for (const [worker, args] of held) send(worker, args)
    })
  })
  await page.goto(site.url + path)
  return {page, letGo: () => page.evaluate(() => Reflect.get(window, 'letWorkerGo')())}
}
