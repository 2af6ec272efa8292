import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {openTestDatabase, promptModel} from '../../runtime/testing.ts'
import {openDevice, until} from '../support/crashable-device.ts'
import {type LinkFaults, openTestServer, type TestServer} from '../support/desk.ts'

let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(() => shop.close())

const model = promptModel(() => ({text: 'Noted.'}))

describe('a session that another device began, opened by its id', () => {
  test('[SYNC-3] [WRK-2] is fetched, documents and all, before the sync has told of it', async () => {
    const [laptop, phone] = [await openTestDatabase(), await openTestDatabase()]
    const one = await openDevice({db: laptop.db, shop, subject: 'maya', model})
    const there = await one.sessions.openSession({agent: 'desk'})
    await there.send('Hello.')
    await there.document('plan').edit('First the box.')
    await until(there, view => view.status === 'completed' && view.pending === 0)
    // The list and the live tail never answer here: nothing but the asking brings it.
    const faults: LinkFaults = {
      before: async (method, path) => {
        if (method === 'GET' && (path === '/v1/sessions' || path === '/v1/live')) await new Promise(() => undefined)
      },
    }
    const two = await openDevice({db: phone.db, shop, subject: 'maya', model, faults})
    const here = await two.session(there.id)
    const view = await until(here, ({entries}) => entries.length === 2)
    expect(view.entries.map(({type}) => type)).toEqual(['message', 'reply'])
    const text = await new Promise(resolve => here.document('plan').subscribe(text => text && resolve(text)))
    expect(text).toBe('First the box.')
    await one.close()
    // Its tail is never answered, and it would wait for that.
    void two.close()
    await laptop.close()
  })

  test('[CUS-5] says that it is unknown, or that the server cannot be reached, and can be asked for again', async () => {
    const [laptop, stranger] = [await openTestDatabase(), await openTestDatabase()]
    const other = await openDevice({db: laptop.db, shop, subject: 'maya', model})
    const {id} = await other.sessions.openSession({agent: 'desk'})
    await until(await other.session(id), view => view.pending === 0)
    const two = await openDevice({db: stranger.db, shop, subject: 'noor', model})
    await expect(two.session(id)).rejects.toMatchObject({code: 'not_found'})
    await two.close()
    const three = await openDevice({db: stranger.db, shop, subject: 'maya', model})
    await three.sessions.setOnline(false)
    await expect(three.session(id)).rejects.toMatchObject({code: 'offline'})
    await three.sessions.setOnline(true)
    await until(await three.session(id), view => view.agent === 'desk')
    await Promise.all([other.close(), three.close()])
    await Promise.all([laptop.close(), stranger.close()])
  })
})
