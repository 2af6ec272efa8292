import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {buildPage} from '../../support/build-page.ts'
import {type LaunchedChromium, launchChromium} from '../../support/chromium.ts'
import {type ServedFolder, serveFolder} from '../../support/serve-folder.ts'
import {connect} from './fixture-site.ts'

/** More of them on demand: each takes five seconds. */
const kills = Number(process.env.HOLDFAST_KILLS ?? 2)

let site: ServedFolder
let profile: string
beforeAll(async () => {
  site = await serveFolder(await buildPage(fileURLToPath(new URL('./fixture', import.meta.url))))
  profile = await mkdtemp(join(tmpdir(), 'holdfast-killed-'))
})
afterAll(async () => {
  await site.close()
  await rm(profile, {recursive: true, force: true, maxRetries: 5})
})

async function openLedger() {
  const browser = await launchChromium({profile})
  const page = await browser.context.newPage()
  await page.goto(site.url)
  await connect(page, 'killed')
  const {recovered} = await page.evaluate(() => window.ledger.service.opened())
  return {browser, page, recovered, ids: await page.evaluate(() => window.ledger.service.ids())}
}

/** The browser and all its helpers at once, as when the device gives out. */
async function kill({context}: LaunchedChromium): Promise<void> {
  const session = await context.browser()?.newBrowserCDPSession()
  const {processInfo = []} = (await session?.send('SystemInfo.getProcessInfo')) ?? {}
  expect(processInfo.map(({type}) => type)).toContain('browser')
  const gone = new Promise<void>(resolve => context.on('close', () => resolve()))
  for (const {id} of processInfo) process.kill(id, 'SIGKILL')
  await gone
}

test('[SYNC-5] [CUS-2] a browser killed while rows are written has every row that its page was told of', async () => {
  const acknowledged: string[] = []
  for (let round = 0; round < kills; round++) {
    const {browser, page, recovered, ids} = await openLedger()
    expect({recovered, lost: acknowledged.filter(id => !ids.includes(id))}).toEqual({recovered: null, lost: []})
    await page.exposeFunction('told', (id: string) => void acknowledged.push(id))
    await page.evaluate(round => {
      window.acknowledged.push = id => Reflect.get(window, 'told')(id)
      window.insertForever(`round-${round}`)
    }, round)
    const enough = acknowledged.length + 10 + ((round * 37) % 60)
    await expect.poll(() => acknowledged.length, {interval: 5}).toBeGreaterThan(enough)
    await kill(browser)
  }
  const {browser, recovered, ids} = await openLedger()
  expect({recovered, lost: acknowledged.filter(id => !ids.includes(id))}).toEqual({recovered: null, lost: []})
  console.log(`${kills} kills: ${acknowledged.length} rows acknowledged, none lost`)
  await browser.close()
}, 900_000)
