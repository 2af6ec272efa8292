import {describe, expect, test} from 'vitest'
import {fixtureSite, untilAcknowledged, untilRole} from './fixture-site.ts'

const site = fixtureSite()

describe('pages of two builds', () => {
  test('[CUS-2] the newer one takes the database over, nothing is lost, and the older one is told', async () => {
    const old = await site.openTab('builds', {build: '2026-11-30T10:00'})
    await untilRole(old, 'leader')
    const other = await site.openTab('builds', {build: '2026-11-30T10:00'})
    await untilRole(other, 'follower')
    for (const [page, name] of [
      [old, 'old'],
      [other, 'other'],
    ] as const) {
      await page.evaluate(prefix => void window.insertForever(prefix), name)
      await untilAcknowledged(page, 5)
    }
    const newer = await site.openTab('builds', {build: '2026-12-01T10:00'})
    await untilRole(newer, 'leader')
    for (const page of [old, other]) {
      await untilRole(page, 'follower')
      await page.waitForFunction(() => window.ledger.newerBuild.get()?.id === '2026-12-01T10:00', null, {
        polling: 20,
      })
      await untilAcknowledged(page, 5)
    }
    expect(await newer.evaluate(() => window.ledger.newerBuild.get())).toBeNull()
    const acknowledged = [old, other].map(page => page.evaluate(() => window.acknowledged))
    const all = (await Promise.all(acknowledged)).flat()
    const kept = new Set(await newer.evaluate(() => window.ledger.service.ids()))
    expect(all.filter(id => !kept.has(id))).toEqual([])
    for (const page of [old, other]) expect(await page.evaluate(() => window.failures)).toEqual([])
  })

  test('[CUS-2] an older one that is opened later follows', async () => {
    const newer = await site.openTab('older-later', {build: '2026-12-01T10:00'})
    await untilRole(newer, 'leader')
    const old = await site.openTab('older-later', {build: '2026-11-30T10:00'})
    await untilRole(old, 'follower')
    await old.waitForFunction(() => window.ledger.newerBuild.get() !== null, null, {polling: 20})
    expect(await newer.evaluate(() => window.ledger.role())).toBe('leader')
  })
})
