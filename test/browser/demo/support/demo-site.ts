import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {BrowserContext, Page} from 'playwright-core'
import {afterAll, beforeAll} from 'vitest'
import {type LaunchedChromium, launchChromium} from '../../../support/chromium.ts'
import {type DemoProcess, startDemo} from './demo-process.ts'
import {openScriptedGateway, type ScriptedGateway} from './scripted-gateway.ts'
import {openProxy, type ServerProxy} from './server-proxy.ts'
import {readTables, type Tables} from './tables.ts'

export interface DemoSite {
  readonly url: string
  readonly proxy: ServerProxy
  readonly model: ScriptedGateway
  readonly dataDir: string
  readonly context: BrowserContext
  /** A new tab of the one profile. */
  openTab(path?: string): Promise<Page>
  startServer(): Promise<void>
  /** Ends the server; its folder stays. */
  endServer(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Closes every tab, stops the server and reads what it has on disk. */
  tables(): Promise<Tables>
}

/** The built desk as a user has it, for the tests of one file: one server process, one browser profile. */
export function demoSite({model: behind}: {model: 'rules' | 'scripted'}): DemoSite {
  let folder: string
  let proxy: ServerProxy
  let model: ScriptedGateway
  let server: DemoProcess | null = null
  let browser: LaunchedChromium | null = null

  const dataDir = () => join(folder, 'data')

  async function startServer(): Promise<void> {
    server = await startDemo({dataDir: dataDir(), ...(behind === 'scripted' && {modelUrl: model.url})})
    proxy.point(server.port)
  }

  async function endServer(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ending = server
    server = null
    await ending?.end(signal)
    proxy.point(null)
  }

  async function profile(): Promise<LaunchedChromium> {
    browser ??= await launchChromium()
    return browser
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdfast-demo-'))
    proxy = await openProxy()
    model = await openScriptedGateway()
    await Promise.all([startServer(), profile()])
  })
  afterAll(async () => {
    await browser?.close()
    await endServer('SIGTERM')
    await proxy?.close()
    await model?.close()
    await rm(folder, {recursive: true, force: true, maxRetries: 5})
  })

  return {
    get url() {
      return proxy.url
    },
    get proxy() {
      return proxy
    },
    get model() {
      return model
    },
    get dataDir() {
      return dataDir()
    },
    get context() {
      if (!browser) throw new Error('The browser is not open.')
      return browser.context
    },
    async openTab(path = '/') {
      const page = await (await profile()).context.newPage()
      await page.goto(proxy.url + path)
      return page
    },
    startServer,
    endServer,
    async tables() {
      await browser?.close()
      browser = null
      await endServer('SIGTERM')
      return await readTables(dataDir())
    },
  }
}
