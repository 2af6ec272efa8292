import {execFileSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {createRequire} from 'node:module'
import {dirname, join} from 'node:path'
import {chromium} from 'playwright-core'

const knownPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
]

/** The path of a Chrome or Chromium: the one named, one installed, or one installed now the way this system offers. */
export function findChromium(): string {
  const named = process.env.HOLDFAST_CHROMIUM
  if (named) {
    if (existsSync(named)) return named
    throw new Error(`HOLDFAST_CHROMIUM names ${named}, and there is no such file.`)
  }
  return installed() ?? installHere() ?? giveUp()
}

function installed(): string | undefined {
  return [...knownPaths, chromium.executablePath()].find(path => path && existsSync(path))
}

function installHere(): string | undefined {
  const attempts = canUseApt() ? [aptInstall, playwrightInstall] : [playwrightInstall]
  for (const attempt of attempts) {
    try {
      attempt()
    } catch {
      continue
    }
    const found = installed()
    if (found) return found
  }
  return undefined
}

function canUseApt(): boolean {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

function aptInstall(): void {
  const env = {...process.env, DEBIAN_FRONTEND: 'noninteractive'}
  execFileSync('apt-get', ['update'], {stdio: 'inherit', env})
  execFileSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], {stdio: 'inherit', env})
}

function playwrightInstall(): void {
  const manifest = createRequire(import.meta.url).resolve('playwright-core/package.json')
  execFileSync(process.execPath, [join(dirname(manifest), 'cli.js'), 'install', 'chromium'], {stdio: 'inherit'})
}

function giveUp(): never {
  throw new Error(
    'The browser tests need Chrome or Chromium. Install one (Debian: "apt-get install chromium"; anywhere: ' +
      '"npx playwright-core install chromium") or set HOLDFAST_CHROMIUM to its path.',
  )
}
