import type {Page} from 'playwright-core'
import {describe, expect, test} from 'vitest'
import {connect, fixtureSite} from './fixture-site.ts'

const site = fixtureSite()

const opened = (page: Page) => page.evaluate(() => window.ledger.service.opened())
const ids = (page: Page) => page.evaluate(() => window.ledger.service.ids())

/** A database with one row, whose tab is closed; a fresh tab that has not opened it yet. */
async function leaveDatabase(name: string): Promise<Page> {
  const page = await site.openTab(name)
  await page.evaluate(() => window.ledger.service.insert('kept'))
  await page.evaluate(() => window.ledger.close())
  return page
}

/** Rewrites one of the small files that the database `name` is opened by. */
function tamper(page: Page, name: string, file: 'marker' | 'tree', edit: 'empty' | 'tear'): Promise<void> {
  return page.evaluate(([name, file, edit]) => window.tamper(name, file, edit), [name, file, edit] as const)
}

describe('opening a database in the browser', () => {
  test('it takes three files, however many Postgres has', async () => {
    const page = await leaveDatabase('few-files')
    expect(await page.evaluate(() => window.filesOf('few-files'))).toEqual(['data', 'tree.0', 'tree.1'])
  })

  test('a first open runs no initdb and needs no eval: neither is fetched nor allowed', async () => {
    site.takeRequests()
    const page = await site.openTab('first')
    expect(await opened(page)).toMatchObject({fresh: true, recovered: null})
    const requests = site.takeRequests()
    expect(requests.filter(path => path.includes('data-dir'))).toHaveLength(1)
    expect(requests.filter(path => path.includes('initdb'))).toEqual([])
  })

  test('a second open fetches no data directory and finds what was written', async () => {
    const page = await leaveDatabase('second')
    site.takeRequests()
    await connect(page, 'second')
    expect(await opened(page)).toMatchObject({fresh: false, recovered: null})
    expect(await ids(page)).toEqual(['kept'])
    expect(site.takeRequests().filter(path => path.includes('data-dir'))).toEqual([])
  })

  test('an emptied database is set aside, never taken for a new one', async () => {
    const page = await leaveDatabase('emptied')
    const before = await page.evaluate(() => window.generations('emptied'))
    await tamper(page, 'emptied', 'tree', 'empty')
    await connect(page, 'emptied')
    expect(await opened(page)).toMatchObject({fresh: true, recovered: 'emptied'})
    const after = await page.evaluate(() => window.generations('emptied'))
    expect(after).toEqual(expect.arrayContaining(before))
    expect(after).toHaveLength(2)
  })

  test('[LOG-9] an emptied marker is rebuilt from the folders, and nothing is set aside', async () => {
    const page = await leaveDatabase('unmarked')
    await tamper(page, 'unmarked', 'marker', 'empty')
    await connect(page, 'unmarked')
    expect(await opened(page)).toMatchObject({fresh: false, recovered: null})
    expect(await ids(page)).toEqual(['kept'])
    expect(await page.evaluate(() => window.generations('unmarked'))).toHaveLength(1)
  })

  test('a last change cut short by a kill is dropped, and the database opens with every row', async () => {
    const page = await leaveDatabase('torn')
    await tamper(page, 'torn', 'tree', 'tear')
    await connect(page, 'torn')
    expect(await opened(page)).toMatchObject({fresh: false, recovered: null})
    expect(await ids(page)).toEqual(['kept'])
  })

  test('[RET-3] after files were given back it opens as it was', async () => {
    const page = await site.openTab('churned')
    await page.evaluate(() => window.ledger.service.insert('kept'))
    await page.evaluate(() => window.ledger.service.churn(160, 'each'))
    await page.evaluate(() => window.ledger.service.insert('late'))
    await page.reload()
    await connect(page, 'churned')
    expect(await opened(page)).toMatchObject({fresh: false, recovered: null})
    expect(await ids(page)).toEqual(['kept', 'late'])
  })

  test('a first open cut short begins again, and reports nothing recovered', async () => {
    const page = await site.openTab('cut-short')
    await page.waitForFunction(() => window.generations('cut-short').then(found => found.length === 1), {polling: 5})
    await page.reload()
    await connect(page, 'cut-short')
    expect(await opened(page)).toMatchObject({fresh: true, recovered: null})
    expect(await page.evaluate(() => window.generations('cut-short'))).toHaveLength(1)
  })

  test('without synchronous file access the database lives in IndexedDB, and keeps its rows', async () => {
    const page = await site.openTab('no-opfs', {withoutOpfs: true})
    expect(await opened(page)).toMatchObject({fresh: true})
    await page.evaluate(() => window.ledger.service.insert('kept'))
    await page.evaluate(() => window.ledger.close())
    await connect(page, 'no-opfs', {withoutOpfs: true})
    expect(await opened(page)).toMatchObject({fresh: false})
    expect(await ids(page)).toEqual(['kept'])
  })

  test.each([
    ['opfs', 'indexeddb'],
    ['opfs and IndexedDB', 'memory'],
  ] as const)('a site that may not use %s opens in what is left and names it: %s', async (forbidden, storage) => {
    const page = await site.openTab(`forbidden-${storage}`, {forbidden})
    expect(await opened(page)).toMatchObject({fresh: true, storage})
    await page.evaluate(() => window.ledger.service.insert('kept'))
    expect(await ids(page)).toEqual(['kept'])
  })
})
