import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {type BrowserContext, chromium} from 'playwright-core'
import {findChromium} from './find-chromium.ts'

export interface LaunchedChromium {
  /** Its pages are tabs of one profile: they share storage, locks and channels. */
  context: BrowserContext
  close(): Promise<void>
}

const flags = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Starts Chromium on a profile of its own, or on `profile` to come back to what an earlier one stored. */
export async function launchChromium(options: {profile?: string; bfcache?: boolean} = {}): Promise<LaunchedChromium> {
  const profile = options.profile ?? (await mkdtemp(join(tmpdir(), 'holdfast-profile-')))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findChromium(),
    headless: true,
    // Chromium refuses to run sandboxed as root, which is what containers are.
    // Playwright turns the back/forward cache off, which would hide what a page in it still holds.
    ignoreDefaultArgs: options.bfcache ? ['--disable-back-forward-cache'] : [],
    args: process.getuid?.() === 0 ? [...flags, '--no-sandbox'] : flags,
  })
  // Catches a page that hangs; a busy machine may take a minute over one click.
  context.setDefaultTimeout(180_000)
  return {
    context,
    async close() {
      await context.close()
      if (!options.profile) await rm(profile, {recursive: true, force: true, maxRetries: 5})
    },
  }
}
