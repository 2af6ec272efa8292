import type {Page} from 'playwright-core'
import {describe, expect, test} from 'vitest'
import {connect, fixtureSite, openPair, untilRole} from './fixture-site.ts'

const site = fixtureSite()

async function startInserting(page: Page, prefix: string): Promise<void> {
  await page.evaluate(prefix => void window.insertForever(prefix), prefix)
  await untilAcknowledged(page, 5)
}

async function untilAcknowledged(page: Page, more: number): Promise<void> {
  const before = await page.evaluate(() => window.acknowledged.length)
  await page.waitForFunction(wanted => window.acknowledged.length >= wanted, before + more, {polling: 20})
}

const acknowledged = (page: Page) => page.evaluate(() => window.acknowledged)
const failures = (page: Page) => page.evaluate(() => window.failures)

/** The ids are keys, so the database itself would refuse a doubled row; what can go wrong is a lost one. */
async function expectKept(page: Page, ids: string[]): Promise<void> {
  const kept = new Set(await page.evaluate(() => window.ledger.service.ids()))
  expect(ids.filter(id => !kept.has(id))).toEqual([])
}

describe('a leader that goes away', () => {
  test("[CUS-2] killing the leader's worker moves the database to the other tab with nothing lost", async () => {
    const [leader, follower] = await openPair(site, 'kill')
    await startInserting(leader, 'leader')
    await startInserting(follower, 'follower')
    await leader.evaluate(() => window.ledger.kill())
    await untilRole(follower, 'leader')
    await untilRole(leader, 'follower')
    await untilAcknowledged(leader, 5)
    await untilAcknowledged(follower, 5)
    await expectKept(follower, [...(await acknowledged(leader)), ...(await acknowledged(follower))])
    expect([...(await failures(leader)), ...(await failures(follower))]).toEqual([])
  })

  test("[CUS-2] closing the leader's tab moves the database to the other tab with nothing lost", async () => {
    const [leader, follower] = await openPair(site, 'close')
    await startInserting(follower, 'follower')
    await leader.close()
    await untilRole(follower, 'leader')
    await untilAcknowledged(follower, 5)
    await expectKept(follower, await acknowledged(follower))
    expect(await failures(follower)).toEqual([])
  })

  test("[CUS-2] reloading the leader's tab moves the database to the other tab with nothing lost", async () => {
    const [leader, follower] = await openPair(site, 'reload')
    await startInserting(leader, 'leader')
    await startInserting(follower, 'follower')
    const before = await acknowledged(leader)
    await leader.reload()
    await connect(leader, 'reload')
    // On a busy machine the old leader may take the database back from a new one that answers late.
    const roles = () => Promise.all([leader, follower].map(page => page.evaluate(() => window.ledger.role())))
    await expect.poll(async () => (await roles()).toSorted()).toEqual(['follower', 'leader'])
    await untilAcknowledged(follower, 5)
    await expectKept(leader, [...before, ...(await acknowledged(follower))])
    expect(await failures(follower)).toEqual([])
  })

  test('[CUS-2] a lone tab that reloads opens its own database again, although the old worker still holds it', async () => {
    const page = await site.openTab('alone')
    for (let round = 0; round < 3; round++) {
      await startInserting(page, `round-${round}`)
      const before = await acknowledged(page)
      await page.reload()
      await connect(page, 'alone')
      await expectKept(page, before)
    }
    expect((await page.evaluate(() => window.ledger.service.opened())).recovered).toBeNull()
  })

  test('[CUS-2] six kills in a row, each of whoever leads, lose nothing and hang nobody', async () => {
    const pages = [...(await openPair(site, 'chaos')), await site.openTab('chaos')]
    for (const [index, page] of pages.entries()) await startInserting(page, `tab-${index}`)
    for (let round = 0; round < 6; round++) {
      for (const page of pages) {
        await page.evaluate(() => window.ledger.role() === 'leader' && window.ledger.kill())
      }
      for (const page of pages) await untilAcknowledged(page, 2)
    }
    const all = (await Promise.all(pages.map(acknowledged))).flat()
    await expectKept(pages[0]!, all)
  })

  test('[CUS-2] a worker whose lock is stolen closes its database and stands in line again', async () => {
    const [leader, follower] = await openPair(site, 'stolen')
    await startInserting(follower, 'follower')
    await follower.evaluate(() => navigator.locks.request('holdfast:stolen', {steal: true}, async () => {}))
    await untilRole(follower, 'leader')
    await untilRole(leader, 'follower')
    await untilAcknowledged(follower, 5)
    await expectKept(leader, await acknowledged(follower))
  })

  test('[CUS-5] a call that may not run twice is told that its leader is gone', async () => {
    const [leader, follower] = await openPair(site, 'gone')
    const codes = [leader, follower].map(page =>
      page.evaluate(() => window.ledger.service.slow(60_000).catch(error => error.code)),
    )
    // One that has not begun goes to the next leader, which is another promise.
    await expect.poll(() => leader.evaluate(() => window.ledger.service.slowCalls())).toBe(2)
    await leader.evaluate(() => window.ledger.kill())
    expect(await Promise.all(codes)).toEqual(['peer_gone', 'peer_gone'])
  })
})
