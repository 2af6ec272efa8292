import {describe, expect, test} from 'vitest'
import {fixtureSite, openPair, untilRole} from './fixture-site.ts'

const site = fixtureSite()

describe('many tabs, one database', () => {
  test('[CUS-2] of two tabs one leads, and both read and write the same rows', async () => {
    const [leader, follower] = await openPair(site, 'shared')
    await leader.evaluate(() => window.ledger.service.insert('from-leader'))
    await follower.evaluate(() => window.ledger.service.insert('from-follower'))
    for (const page of [leader, follower]) {
      expect(await page.evaluate(() => window.ledger.service.ids())).toEqual(['from-follower', 'from-leader'])
    }
    const epochs = await Promise.all([leader, follower].map(page => page.evaluate(() => window.ledger.service.ping())))
    expect(new Set(epochs).size).toBe(1)
  })

  test('[CUS-2] databases of different names do not meet', async () => {
    const left = await site.openTab('left')
    const right = await site.openTab('right')
    await left.evaluate(() => window.ledger.service.insert('only-left'))
    expect(await right.evaluate(() => window.ledger.service.count())).toBe(0)
  })

  test('a frame published by the leader reaches the listeners of every tab', async () => {
    const pages = await openPair(site, 'feed')
    const heard = pages.map(page =>
      page.evaluate(() => new Promise(resolve => window.ledger.listen('ledger', resolve))),
    )
    await pages[1].evaluate(() => window.ledger.service.insert('told'))
    expect(await Promise.all(heard)).toEqual([{id: 'told'}, {id: 'told'}])
  })

  test('[CUS-5] an error keeps code, message, details and cause through one worker and through two', async () => {
    for (const page of await openPair(site, 'errors')) {
      const error = await page.evaluate(() =>
        window.ledger.service.refuse().catch(({name, code, message, details, cause}) => ({
          ...{name, code, message, details},
          cause: cause.message,
        })),
      )
      expect(error).toEqual({
        name: 'HoldfastError',
        code: 'refused',
        message: 'Not like this.',
        details: {legal: ['insert']},
        cause: 'rule 7',
      })
    }
  })

  test('[CUS-5] a call through two workers that takes too long yields a deadline error', async () => {
    await untilRole(await site.openTab('deadline'), 'leader')
    const follower = await site.openTab('deadline', {deadlineMs: 500})
    await untilRole(follower, 'follower')
    const code = await follower.evaluate(() => window.ledger.service.slow(60_000).catch(error => error.code))
    expect(code).toBe('deadline')
  })

  test('[CUS-5] a database that cannot be opened says why to every tab, and nobody hangs', async () => {
    const pages = [
      await site.openTab('unopenable', {failOpen: true}),
      await site.openTab('unopenable', {failOpen: true}),
    ]
    for (const page of pages) {
      const error = await page.evaluate(() =>
        window.ledger.service.count().catch(({code, details}) => ({code, details})),
      )
      expect(error).toEqual({code: 'storage_full', details: {bytes: 1}})
    }
  })
})
