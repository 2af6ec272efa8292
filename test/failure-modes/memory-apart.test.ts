import {describe, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {Page} from '../../runtime/protocol/wire.ts'
import {proposalOf, teller} from '../memory/support/teller.ts'
import {tablesWith} from '../support/scan-database.ts'
import {call} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {deskServers} from '../sync-server/support/desk-server.ts'

const database = testDatabase()
const servers = deskServers(database)
const accepting = () => servers.server({memory: {policy: () => ({accept: 'told in these words'})}})

describe('memory and transcript in one store', () => {
  test('[MEM-1] [RET-4] an erased conversation takes no memory with it, and a forgotten memory no conversation', async () => {
    const server = accepting()
    const maya = teller(server, {tenant: 'acme', subject: 'maya-apart'})
    const pages = async (session: string) =>
      (await call<Page>(server, maya.who, `/v1/sessions/${session}/events`)).body.events

    const told = await maya.said('quartz lanterns, always by post')
    const kept = await maya.told('Wants parcels by post.', {sources: [{session: told.session, events: [told.event]}]})
    await call<ErasureReceipt>(server, maya.who, '/v1/erasures', {session: told.session})
    expect(await tablesWith(database.db, 'quartz lanterns')).toEqual([])
    expect((await maya.recall({query: 'parcels by post'})).map(({item}) => item.id)).toEqual([kept])

    const other = await maya.said('basalt teapots, never on Fridays')
    const before = await pages(other.session)
    const gone = proposalOf(other, {text: 'Never deliver on Fridays.'})
    await maya.propose([gone])
    await maya.change(gone.id, {do: 'forget'})
    expect(await tablesWith(database.db, 'Never deliver on Fridays.')).toEqual([])
    expect(await pages(other.session)).toEqual(before)
  })

  test('[MEM-1] [WRK-4] what is remembered is recalled in another session and is no part of its transcript', async () => {
    const server = accepting()
    const maya = teller(server, {tenant: 'acme', subject: 'maya-recall'})
    await maya.told('Prefers basalt grey tents.')
    const next = await maya.said('Which tents do I like?')
    expect((await maya.recall({query: 'Which tents?'})).map(({item}) => item.text)).toEqual([
      'Prefers basalt grey tents.',
    ])
    const {body} = await call<Page>(server, maya.who, `/v1/sessions/${next.session}/events`)
    expect(body.events.map(({kind}) => kind)).toEqual(['session.opened', 'message.posted'])
    expect(JSON.stringify(body.events)).not.toContain('basalt grey')
  })
})
