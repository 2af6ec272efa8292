import type {Page, Route} from 'playwright-core'
import {describe, expect, test} from 'vitest'
import type {Opening} from '../../../runtime/protocol/opening.ts'
import {connect, fixtureSite, untilRole} from './fixture-site.ts'

const site = fixtureSite()

const opening = (page: Page) => page.evaluate(() => window.ledger.opening.get())

async function untilCause(page: Page): Promise<Extract<Opening, {state: 'opening'}>> {
  await page.waitForFunction(() => {
    const now = window.ledger.opening.get()
    return now.state === 'opening' && now.cause !== null
  })
  return (await opening(page)) as Extract<Opening, {state: 'opening'}>
}

const loginPage = (route: Route) =>
  route.fulfill({status: 200, contentType: 'text/html', body: '<!doctype html><title>Sign in</title>'})

describe('a page that cannot open its database', () => {
  test.for<[string, string, (route: Route) => Promise<void>, string, RegExp]>([
    [
      'a worker whose script is gone',
      '**/ledger.worker*.js',
      route => route.fulfill({status: 404}),
      'new_version',
      /404/,
    ],
    ['a login page in place of the script', '**/ledger.worker*.js', loginPage, 'wrong_answer', /text\/html/],
    [
      'a script that cannot be fetched',
      '**/ledger.worker*.js',
      route => route.abort(),
      'unreachable',
      /ledger\.worker/,
    ],
    ['a login page in place of the engine', '**/*.wasm', loginPage, 'wrong_answer', /\.wasm/],
    ['an engine that is gone', '**/*.wasm', route => route.fulfill({status: 404}), 'new_version', /404/],
    ['a login page in place of its files', '**/*.data', loginPage, 'wrong_answer', /\.data/],
  ])(
    '[CUS-5] %s is named at once, and opening goes on by itself when it is right again',
    async ([name, files, answer, kind, details]) => {
      const page = await site.openBlank()
      await page.route(files, answer)
      await connect(page, name)
      const failed = await untilCause(page)
      expect(failed.cause).toMatchObject({kind, details: expect.stringMatching(details)})
      expect(failed.attempt).toBeGreaterThan(1)
      const refused = await page.evaluate(() => window.ledger.service.count().catch(error => error.message))
      expect(refused).not.toBe('')
      await page.unroute(files)
      await untilRole(page, 'leader')
      expect(await opening(page)).toMatchObject({state: 'open', role: 'leader'})
    },
  )

  test('[CUS-5] a browser without Web Locks says so, and every call is refused by name', async () => {
    const page = await site.openBlank()
    await page.evaluate(() => Reflect.deleteProperty(Navigator.prototype, 'locks'))
    await connect(page, 'no-locks')
    expect(await opening(page)).toMatchObject({
      state: 'failed',
      cause: {kind: 'browser', details: expect.stringContaining('Web Locks')},
      ways: ['other_browser'],
    })
    const code = await page.evaluate(() => window.ledger.service.count().catch(error => error.code))
    expect(code).toBe('misconfigured')
  })

  test('[CUS-5] a database without room is tried again until there is some', async () => {
    const page = await site.openTab('no-room-yet', {failOpen: true})
    expect((await untilCause(page)).cause).toMatchObject({kind: 'no_room'})
    // More tries than it once gave up after.
    await page.waitForFunction(() => {
      const now = window.ledger.opening.get()
      return now.state === 'opening' && now.attempt > 6
    })
  })
})
