import type {Page} from 'playwright-core'
import {afterEach, describe, expect, test} from 'vitest'
import {fixtureSite, openPair, untilAcknowledged, untilRole} from './fixture-site.ts'
import {rendererOf} from './renderer-of.ts'

const site = fixtureSite()
const stopped: number[] = []

afterEach(() => {
  for (const pid of stopped.splice(0)) process.kill(pid, 'SIGCONT')
})

async function freeze(page: Page, ...others: Page[]): Promise<() => void> {
  const pid = await rendererOf(site.context(), page)
  for (const other of others) expect(await rendererOf(site.context(), other)).not.toBe(pid)
  process.kill(pid, 'SIGSTOP')
  stopped.push(pid)
  return () => process.kill(pid, 'SIGCONT')
}

const acknowledged = (page: Page) => page.evaluate(() => window.acknowledged)

async function untilBlocked(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => window.ledger.opening.get()))
    .toMatchObject({state: 'blocked', by: 'frozen_tab'})
}

describe('a leader whose process is frozen', () => {
  test('[CUS-2] it is named to the other tabs, taken over from, and writes nothing that counts when it thaws', async () => {
    const [leader, follower] = await openPair(site, 'frozen')
    const third = await site.openTab('frozen')
    await untilRole(third, 'follower')
    const thaw = await freeze(leader, follower, third)
    thaw()
    for (const [page, name] of [
      [leader, 'leader'],
      [follower, 'follower'],
      [third, 'third'],
    ] as const) {
      await page.evaluate(prefix => void window.insertForever(prefix), name)
      await untilAcknowledged(page, 5)
    }
    process.kill(stopped[0]!, 'SIGSTOP')
    const start = performance.now()
    await untilBlocked(follower)
    const namedMs = performance.now() - start
    await untilAcknowledged(follower, 5)
    const goesOnMs = performance.now() - start
    await untilAcknowledged(third, 5)
    console.log(`frozen: named after ${Math.round(namedMs)} ms, written again after ${Math.round(goesOnMs)} ms`)
    thaw()
    await untilRole(leader, 'follower')
    await untilAcknowledged(leader, 5)
    const all = [...(await acknowledged(leader)), ...(await acknowledged(follower)), ...(await acknowledged(third))]
    const kept = new Set(await third.evaluate(() => window.ledger.service.ids()))
    expect(all.filter(id => !kept.has(id))).toEqual([])
  })

  test('[CUS-2] a tab that is opened while it is frozen says so, and gets everything that was acknowledged', async () => {
    const leader = await site.openTab('found-frozen')
    await untilRole(leader, 'leader')
    const blank = await site.openBlank()
    // The processes are told apart by the time that they use: before the leader's worker uses any.
    const thaw = await freeze(leader, blank)
    thaw()
    await leader.evaluate(() => void window.insertForever('leader'))
    await untilAcknowledged(leader, 20)
    const before = await acknowledged(leader)
    process.kill(stopped[0]!, 'SIGSTOP')
    await blank.evaluate(() => void window.connect('found-frozen'))
    await untilBlocked(blank)
    await untilRole(blank, 'leader')
    const kept = new Set(await blank.evaluate(() => window.ledger.service.ids()))
    expect(before.filter(id => !kept.has(id))).toEqual([])
  })
})
