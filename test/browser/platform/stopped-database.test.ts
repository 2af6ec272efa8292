import type {Page} from 'playwright-core'
import {describe, expect, test} from 'vitest'
import type {Fault} from './fixture/ledger.ts'
import {connect, fixtureSite, openPair} from './fixture-site.ts'

const site = fixtureSite()

const ids = (page: Page) => page.evaluate(() => window.ledger.service.ids())
const breakWrites = (page: Page, how: Fault) => page.evaluate(how => window.ledger.service.breakWrites(how), how)

function insert(page: Page, id: string): Promise<string> {
  return page.evaluate(
    id =>
      window.ledger.service.insert(id).then(
        () => 'kept',
        error => error.code,
      ),
    id,
  )
}

async function afterReload(page: Page, name: string): Promise<{recovered: string | null; ids: string[]}> {
  await page.reload()
  await connect(page, name)
  const {recovered} = await page.evaluate(() => window.ledger.service.opened())
  return {recovered, ids: await ids(page)}
}

describe('a database that cannot go on', () => {
  test('[SYNC-5] hundreds of tables in one statement are made, and what is written after is kept', async () => {
    const page = await site.openTab('crowded')
    expect(await insert(page, 'before')).toBe('kept')
    await page.evaluate(() => window.ledger.service.churn(400, 'at once'))
    expect(await insert(page, 'after')).toBe('kept')
    expect(await afterReload(page, 'crowded')).toEqual({recovered: null, ids: ['after', 'before']})
  })

  test('[SYNC-5] Postgres that dies is never answered for: the worker is replaced, and the write made once', async () => {
    const [leader, follower] = await openPair(site, 'dying')
    expect(await insert(leader, 'before')).toBe('kept')
    await breakWrites(leader, 'unknown')
    expect(await Promise.all([insert(leader, 'mine'), insert(follower, 'theirs')])).toEqual(['kept', 'kept'])
    expect(await ids(follower)).toEqual(['before', 'mine', 'theirs'])
    await follower.close()
    expect(await afterReload(leader, 'dying')).toEqual({recovered: null, ids: ['before', 'mine', 'theirs']})
  })

  test('[SYNC-5] a write that the disk does not confirm is not acknowledged: the next worker makes it once', async () => {
    const page = await site.openTab('unflushed')
    expect(await insert(page, 'before')).toBe('kept')
    await breakWrites(page, 'unflushed')
    expect(await insert(page, 'during')).toBe('kept')
    expect(await afterReload(page, 'unflushed')).toEqual({recovered: null, ids: ['before', 'during']})
  })

  test('[SYNC-5] a write that finds no room in the write-ahead log goes to the next worker, and every acknowledged row outlives it', async () => {
    const page = await site.openTab('no-room')
    expect(await insert(page, 'before')).toBe('kept')
    await breakWrites(page, 'full')
    // The worker that takes over has room again.
    expect(await insert(page, 'during')).toBe('kept')
    expect(await insert(page, 'after')).toBe('kept')
    expect(await afterReload(page, 'no-room')).toEqual({recovered: null, ids: ['after', 'before', 'during']})
  })
})
