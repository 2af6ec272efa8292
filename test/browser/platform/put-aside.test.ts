import {describe, expect, test} from 'vitest'
import {fixtureSite, openPair, untilRole} from './fixture-site.ts'

const site = fixtureSite({bfcache: true})

describe('a page put into the back/forward cache', () => {
  test('[CUS-2] it lets go of the database, and is served again when it comes back', async () => {
    const [leader, follower] = await openPair(site, 'aside')
    await leader.evaluate(() => window.ledger.service.insert('before'))
    await leader.evaluate(() => {
      window.addEventListener('pageshow', event => {
        window.failures.push(event.persisted ? 'restored' : 'loaded anew')
      })
    })
    await leader.goto('about:blank')
    await untilRole(follower, 'leader')
    await follower.evaluate(() => window.ledger.service.insert('meanwhile'))
    await leader.goBack({waitUntil: 'commit', timeout: 5_000}).catch(() => {})
    await untilRole(leader, 'follower')
    expect(await leader.evaluate(() => window.failures)).toEqual(['restored'])
    const heard = leader.evaluate(() => new Promise(resolve => window.ledger.listen('ledger', resolve)))
    expect(await leader.evaluate(() => window.ledger.service.ids())).toEqual(['before', 'meanwhile'])
    await follower.evaluate(() => window.ledger.service.insert('after'))
    expect(await heard).toEqual({id: 'after'})
  })
})
