import {describe, expect, test} from 'vitest'
import type {SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {LiveMessage} from '../../runtime/protocol/wire.ts'
import {serverEnvironment as env, type MemoryPolicy, openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {tablesWith} from '../support/scan-database.ts'
import {headersOf} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {deskServers} from '../sync-server/support/desk-server.ts'
import {readStream} from '../sync-server/support/read-stream.ts'
import {proposalOf, type Refused, teller} from './support/teller.ts'

const database = testDatabase()
const servers = deskServers(database)
let subjects = 0
const someone = (tenant = 'acme') => ({tenant, subject: `person-${++subjects}`})
const accepting = (over: {policy?: MemoryPolicy} = {}) =>
  servers.server({memory: {policy: () => ({accept: 'told in these words'}), ...over}})

describe('what enters memory', () => {
  test('[MEM-2] without a policy of the application, nothing enters by itself: it waits for its subject', async () => {
    const maya = teller(servers.server(), someone())
    const id = await maya.told('I like store credit best.')
    expect(await maya.item(id)).toMatchObject({status: 'proposed', confidence: 0.9})
    expect(await maya.recall({query: 'store credit'})).toEqual([])
    expect((await maya.change(id, {do: 'accept'})).body.item).toMatchObject({status: 'accepted'})
    expect(await maya.recall({query: 'store credit'})).toHaveLength(1)
  })

  test('[MEM-2] an item says who made it, who let it in, when, and from which events', async () => {
    const maya = teller(accepting(), someone())
    const told = await maya.said('I like store credit best.')
    const proposal = proposalOf(told)
    expect(await maya.propose([proposal])).toEqual([{status: 'accepted', id: proposal.id}])
    const item = await maya.item(proposal.id)
    expect(item?.sources).toEqual([{session: told.session, events: [told.event]}])
    expect(item?.history.map(({did, by, why}) => [did, by.type, why])).toEqual([
      ['proposed', 'extractor', null],
      ['accepted', 'policy', 'told in these words'],
    ])
    expect(item?.updatedAt).toBeGreaterThan(0)
  })

  test('[MEM-2] what the policy refuses leaves no text, and does not come in when it is sent again', async () => {
    const maya = teller(accepting({policy: () => ({refuse: 'Not about health.'})}), someone())
    const proposal = proposalOf(await maya.said('hm'), {text: 'Has a rare-marmot-allergy.'})
    expect(await maya.propose([proposal])).toEqual([{status: 'refused', id: proposal.id, reason: 'Not about health.'}])
    expect(await maya.propose([proposal])).toEqual([{status: 'duplicate', id: proposal.id}])
    expect(await tablesWith(database.db, 'rare-marmot-allergy')).toEqual([])
  })

  test('[MEM-2] a policy that throws has asked the subject, and the host hears of it', async () => {
    const faults: unknown[] = []
    const server = servers.server({
      onFault: error => faults.push(error),
      memory: {
        policy: () => {
          throw new Error('policy is down')
        },
      },
    })
    const maya = teller(server, someone())
    expect(await maya.item(await maya.told('I like store credit.'))).toMatchObject({status: 'proposed'})
    expect(faults).toHaveLength(1)
  })

  test('[MEM-4] a batch whose answer was lost is sent again and changes nothing', async () => {
    const maya = teller(accepting(), someone())
    const proposal = proposalOf(await maya.said('x'))
    await maya.propose([proposal])
    const before = await maya.page()
    expect(await maya.propose([proposal])).toEqual([{status: 'duplicate', id: proposal.id}])
    expect(await maya.page()).toEqual(before)
  })

  test('[MEM-4] one bad proposal is named with its field and harms no other', async () => {
    const maya = teller(accepting(), someone())
    const good = proposalOf(await maya.said('x'))
    const verdicts = await maya.propose([{...good, id: env.id('memory'), confidence: 1.5}, 7, good])
    expect(verdicts.map(({status}) => status)).toEqual(['rejected', 'rejected', 'accepted'])
    expect(verdicts[0]).toMatchObject({
      error: {code: 'bad_input', message: 'proposal.confidence: expected a number from 0 to 1'},
    })
  })

  test('[MEM-2] sources that do not exist, or are of somebody else, are refused alike', async () => {
    const server = accepting()
    const eve = await teller(server, someone()).said('mine')
    const maya = teller(server, someone())
    const mine = await maya.said('hers')
    const strangers = [eve, {session: env.id('session'), event: env.id('event')}, {...mine, event: env.id('event')}]
    const verdicts = await maya.propose(strangers.map(told => proposalOf(told)))
    expect(verdicts.map(verdict => verdict.status === 'rejected' && verdict.error)).toEqual(
      strangers.map(() => ({code: 'not_found', message: 'No such source events.'})),
    )
    expect((await maya.page()).items).toEqual([])
  })

  test('[MEM-2] the same said twice is known already', async () => {
    const maya = teller(accepting(), someone())
    const told = await maya.said('x')
    await maya.propose([proposalOf(told, {text: 'Lives in Porto.'})])
    expect(await maya.propose([proposalOf(told, {text: 'lives in  Porto'})])).toMatchObject([
      {status: 'refused', reason: 'This is known already.'},
    ])
  })

  test('[VIEW-5] what is shaped like a credential is not remembered', async () => {
    const maya = teller(accepting(), someone())
    const id = await maya.told('x', {text: 'Uses the key sk-live-0123456789abcdef0123 for the shop.'})
    expect((await maya.item(id))?.text).toBe('Uses the key [removed] for the shop.')
  })
})

describe('what a person has settled', () => {
  const key = 'preference/refund-channel'

  test.each([
    ['forgotten', {do: 'forget'}],
    ['corrected', {do: 'correct', text: 'Refund to the card.', revision: 2}],
  ])(
    '[MEM-5] what was %s is not taken again from the same message, with or without its key',
    async (status, change) => {
      const maya = teller(accepting(), someone())
      const told = await maya.said('I like store credit best.')
      const first = proposalOf(told, {key})
      await maya.propose([first])
      expect((await maya.change(first.id, change)).body.item).toMatchObject({status})
      const again = [proposalOf(told, {key}), proposalOf(told, {key, text: 'Store credit, please.'}), proposalOf(told)]
      expect(await maya.propose(again)).toEqual(
        again.map(({id}) => ({
          status: 'refused',
          id,
          reason: 'What was remembered from this message was corrected or forgotten.',
        })),
      )
      expect((await maya.recall({key})).map(({item}) => item.text)).toEqual(
        status === 'corrected' ? ['Refund to the card.'] : [],
      )
    },
  )

  test('[MEM-5] the same said in a new message is taken, and so is what else the old message says', async () => {
    const maya = teller(accepting(), someone())
    const told = await maya.said('I like store credit best, and I live in Porto.')
    const first = proposalOf(told, {key})
    await maya.propose([first])
    await maya.change(first.id, {do: 'forget'})
    const city = proposalOf(told, {key: 'fact/city', text: 'Lives in Porto.'})
    const later = proposalOf(await maya.said('Store credit after all.'), {key})
    expect((await maya.propose([city, later])).map(({status}) => status)).toEqual(['accepted', 'accepted'])
  })

  test('[MEM-5] what a second device made of the message before it heard of it goes with the first', async () => {
    const maya = teller(servers.server(), someone())
    const told = await maya.said('I like store credit best.')
    const [first, second] = [proposalOf(told, {key}), proposalOf(told, {key, text: 'Store credit, please.'})]
    await maya.propose([first, second])
    await maya.change(first.id, {do: 'forget'})
    expect((await maya.page()).items.map(({status}) => status)).toEqual(['forgotten', 'forgotten'])
  })

  test('[MEM-5] of the key of a forgotten item only a hash is left, and of an erased subject nothing', async () => {
    const who = someone()
    const maya = teller(accepting(), who)
    const first = proposalOf(await maya.said('x'), {key: 'fact/rare-marmot', text: 'Keeps a rare-marmot.'})
    await maya.propose([first])
    await maya.change(first.id, {do: 'forget'})
    expect(await tablesWith(database.db, 'rare-marmot')).toEqual([])
    expect(await tablesWith(database.db, first.sources[0]!.events[0]!)).toContain('hf_memory_settled')
    const store = await openPgStore(pgliteSql(database.db))
    await store.memory.eraseBySubject({tenant: who.tenant as TenantId, subject: who.subject as SubjectId}, Date.now())
    expect(await tablesWith(database.db, first.sources[0]!.events[0]!)).not.toContain('hf_memory_settled')
  })
})

describe('what becomes of it', () => {
  test('[MEM-3] a later item of the same key takes the place of the earlier one, which is never recalled again', async () => {
    const maya = teller(accepting(), someone())
    const key = 'preference/refund-channel'
    const old = await maya.told('Refund to the card.', {key})
    const now = await maya.told('Refund as store credit.', {key})
    expect(await maya.item(old)).toMatchObject({status: 'superseded', supersededBy: now})
    expect((await maya.recall({key})).map(({item}) => item.id)).toEqual([now])
    expect(await maya.recall({query: 'card'})).toEqual([])
  })

  test('[MEM-3] a proposal may name the item it takes the place of', async () => {
    const maya = teller(accepting(), someone())
    const old = await maya.told('Lives in Porto.')
    await maya.told('Moved to Ghent.', {supersedes: old})
    expect(await maya.item(old)).toMatchObject({status: 'superseded'})
  })

  test('[MEM-3] a correction keeps the words it replaced in the history and recalls only the new ones', async () => {
    const maya = teller(accepting(), someone())
    const id = await maya.told('Shoe size 41.')
    const {revision} = (await maya.item(id)) ?? {}
    const answer = await maya.change(id, {do: 'correct', text: 'Boot width 43.', revision})
    expect(answer.body.item).toMatchObject({status: 'corrected', text: 'Boot width 43.'})
    expect((await maya.item(id))?.history.at(-1)).toMatchObject({did: 'corrected', was: 'Shoe size 41.'})
    expect(await maya.recall({query: 'shoe 41'})).toEqual([])
    expect(await maya.recall({query: 'boot width'})).toHaveLength(1)
  })

  test('[MEM-3] a correction of words that are no longer there is a conflict that says so', async () => {
    const maya = teller(accepting(), someone())
    const id = await maya.told('Shoe size 41.')
    await maya.change(id, {do: 'correct', text: 'Shoe size 42.', revision: 2})
    const late = await maya.change<Refused>(id, {do: 'correct', text: 'Shoe size 40.', revision: 2})
    expect([late.status, late.body.error.code]).toEqual([409, 'conflict'])
    expect(await maya.item(id)).toMatchObject({text: 'Shoe size 42.'})
    // The same correction again is no conflict: its answer may have been lost.
    expect((await maya.change(id, {do: 'correct', text: 'Shoe size 42.', revision: 2})).status).toBe(200)
  })

  test('[MEM-3] forgetting leaves an id and nothing else, in any table', async () => {
    const maya = teller(accepting(), someone())
    const id = await maya.told('x', {text: 'Collects purple-otter-stamps.', key: 'fact/purple-otter'})
    await maya.change(id, {do: 'correct', text: 'Collected purple-otter-stamps once.', revision: 2})
    expect((await maya.change(id, {do: 'forget'})).body).toEqual({
      item: {id, status: 'forgotten', updatedAt: expect.any(Number)},
    })
    expect(await tablesWith(database.db, 'purple-otter')).toEqual([])
    expect(await tablesWith(database.db, id)).toEqual(['hf_audit', 'hf_memory'])
    expect((await maya.change(id, {do: 'forget'})).status).toBe(200)
    const revived = await maya.change<Refused>(id, {do: 'accept'})
    expect(revived.body.error).toMatchObject({code: 'refused', message: expect.stringContaining('forgotten')})
  })

  test('[MEM-3] what is over is not recalled from that moment, and the sweep writes it down', async () => {
    const clock = {...servers.environment}
    const server = accepting()
    const maya = teller(server, someone())
    const until = clock.now() + 60_000
    const id = await maya.told('On holiday until Friday.', {validUntil: until})
    const future = await maya.told('At the new address from June.', {validFrom: clock.now() + 3_600_000})
    expect((await maya.recall({query: 'holiday address'})).map(({item}) => item.id)).toEqual([id])
    servers.environment.advance(61_000)
    expect(await maya.recall({query: 'holiday'})).toEqual([])
    expect(await maya.item(id)).toMatchObject({status: 'accepted'})
    const swept = servers.server({limits: {sweepMs: 1}})
    await swept.start()
    await expect.poll(async () => (await maya.item(id))?.status).toBe('expired')
    await swept.close()
    expect(await maya.item(future)).toMatchObject({status: 'accepted'})
  })

  test('[MEM-2] every change is in the audit trail, and no text is', async () => {
    const who = someone()
    const maya = teller(accepting(), who)
    const id = await maya.told('Secret-badger.')
    await maya.change(id, {do: 'correct', text: 'Secret-badger two.', revision: 2})
    await maya.change(id, {do: 'forget'})
    const trail = await database.store.audit.about(who.tenant as never, id)
    expect(trail.map(({action, subject, reason}) => [action, subject, reason])).toEqual([
      ['memory.accepted', who.subject, 'policy'],
      ['memory.corrected', who.subject, 'person'],
      ['memory.forgotten', who.subject, 'person'],
    ])
  })
})

describe('reading', () => {
  test('[MEM-4] a replica that goes on from its cursor misses no change and sees each item as it is', async () => {
    const maya = teller(accepting(), someone())
    const first = await maya.told('One.')
    const {cursor} = await maya.page()
    const second = await maya.told('Two.')
    await maya.change(first, {do: 'forget'})
    const page = await maya.page(cursor)
    expect(page.items.map(({id, status}) => [id, status])).toEqual([
      [second, 'accepted'],
      [first, 'forgotten'],
    ])
    expect(await maya.page(page.cursor)).toEqual({items: [], cursor: page.cursor, more: false})
  })

  test('[MEM-1] memory is read across sessions of its subject and stays when a session is gone', async () => {
    const who = someone()
    const maya = teller(accepting(), who)
    const told = await maya.said('I live in Porto.')
    await maya.propose([proposalOf(told, {text: 'Lives in Porto.'})])
    await database.sql.query('DELETE FROM hf_events WHERE tenant = $1 AND session = $2', [who.tenant, told.session])
    await database.sql.query('DELETE FROM hf_sessions WHERE tenant = $1 AND id = $2', [who.tenant, told.session])
    expect(await maya.recall({query: 'Where does she live?'})).toMatchObject([{item: {text: 'Lives in Porto.'}}])
  })

  test('[SYNC-3] a change is poked to the live streams of its subject and of nobody else', async () => {
    const server = accepting()
    const maya = teller(server, someone())
    const eve = teller(server, someone())
    const streams = await Promise.all(
      [maya, eve].map(async ({who}) => readStream(await server.app.request('/v1/live', {headers: headersOf(who)}))),
    )
    for (const stream of streams) expect(await stream.next<LiveMessage>()).toEqual({type: 'hello'})
    await maya.told('One.')
    const next = []
    while (next.at(-1) !== 'memory') next.push((await streams[0]?.next<LiveMessage>())?.type)
    await eve.said('Something of her own.')
    expect(await streams[1]?.next<LiveMessage>()).toMatchObject({type: 'head'})
    for (const stream of streams) await stream.cancel()
  })

  test('[MEM-3] with an embedder, what was corrected or forgotten is not found by the vector of its old words', async () => {
    const server = servers.server({
      memory: {
        policy: () => ({accept: 'yes'}),
        embedder: {name: 'toy', dimensions: 2, embed: async texts => texts.map(toy)},
      },
    })
    const maya = teller(server, someone())
    const pay = await maya.told('Money back on the card.')
    const pet = await maya.told('Has a dog.')
    await server.idle()
    expect(await maya.recall({query: 'reimbursement'})).toMatchObject([{item: {id: pay}, by: ['meaning']}])
    await maya.change(pay, {do: 'correct', text: 'Has a cat too.', revision: 2})
    await maya.change(pet, {do: 'forget'})
    expect(await maya.recall({query: 'reimbursement'})).toEqual([])
    await server.idle()
    expect((await maya.recall({query: 'puppy'})).map(({item}) => item.id)).toEqual([pay])
    expect(await tablesWith(database.db, pet)).toEqual(['hf_audit', 'hf_memory'])
  })
})

/** Two meanings: paying back, and pets. */
function toy(text: string): Float32Array {
  const about = (words: RegExp) => (words.test(text) ? 1 : 0)
  return Float32Array.of(about(/money|reimburse/i), about(/dog|cat|puppy/i))
}

describe('erasure', () => {
  test('[RET-4] erasing by session takes what was made from it, even in part, and leaves the rest', async () => {
    const who = someone()
    const maya = teller(accepting(), who)
    const [one, two] = [await maya.said('One.'), await maya.said('Two.')]
    const both = proposalOf(one, {
      text: 'From both: teal-heron.',
      sources: [one, two].map(({session, event}) => ({session, events: [event]})),
    })
    const other = proposalOf(two, {text: 'From two alone.'})
    await maya.propose([both, other])
    const owner = who as never
    const erased = await database.store.memory.eraseBySession({...(owner as object), session: one.session} as never, 9)
    expect(erased).toEqual({items: [both.id]})
    expect(await tablesWith(database.db, 'teal-heron')).toEqual([])
    expect((await maya.page()).items.map(({id, status}) => [id, status])).toEqual([
      [other.id, 'accepted'],
      [both.id, 'forgotten'],
    ])
    expect(await maya.propose([both])).toEqual([{status: 'duplicate', id: both.id}])
    expect(
      await database.store.memory.eraseBySession({...(owner as object), session: one.session} as never, 9),
    ).toEqual({items: []})
  })

  test('[RET-2] erasing a subject forgets all of theirs, in their tenant alone', async () => {
    const who = someone()
    const twin = {tenant: 'other', subject: who.subject}
    const [maya, namesake] = [teller(accepting(), who), teller(accepting(), twin)]
    const ids = [await maya.told('Olive-lynx one.'), await maya.told('Olive-lynx two.')]
    const hers = await namesake.told('Stays.')
    expect(await database.store.memory.eraseBySubject(who as never, 9)).toEqual({items: ids})
    expect((await maya.page()).items.every(({status}) => status === 'forgotten')).toBe(true)
    expect(await namesake.item(hers)).toMatchObject({status: 'accepted'})
    const inMemory = (await tablesWith(database.db, 'Olive-lynx')).filter(table => table.startsWith('hf_memory'))
    expect(inMemory).toEqual([])
  })
})

describe('strangers and bad input', () => {
  test("[ID-4] somebody else's memory answers exactly like an unknown one, whatever is asked of it", async () => {
    const server = accepting()
    const owner = someone()
    const id = await teller(server, owner).told('Mine.')
    const strangers = [someone(), {tenant: 'other', subject: owner.subject}]
    for (const who of strangers) {
      const eve = teller(server, who)
      for (const change of [{do: 'accept'}, {do: 'correct', text: 'x', revision: 1}, {do: 'forget'}]) {
        const real = await eve.change<Refused>(id, change)
        expect(real).toEqual(await eve.change<Refused>(env.id('memory'), change))
        expect(real.status).toBe(404)
      }
      expect(await eve.page()).toEqual({items: [], cursor: 0, more: false})
      expect(await eve.recall({query: 'mine'})).toEqual([])
      // Her proposal under the same id is one of her own, as with an id that nobody has.
      const proposal = proposalOf(await eve.said('Hers.'), {id, text: 'Hers.'})
      expect(await eve.propose([proposal])).toEqual([{status: 'accepted', id}])
    }
    expect(await teller(server, owner).item(id)).toMatchObject({text: 'Mine.'})
  })

  test.each([
    ['/v1/memory/items/mem_1/change', {do: 'forget'}, 'memory: expected a memory id'],
    [`/v1/memory/items/${env.id('memory')}/change`, {do: 'eat'}, 'body.do'],
    [
      `/v1/memory/items/${env.id('memory')}/change`,
      {do: 'correct', text: '  ', revision: 1},
      'body.text: expected a text',
    ],
    [`/v1/memory/items/${env.id('memory')}/change`, {do: 'correct', text: 'a'}, 'body.revision: expected the revision'],
    ['/v1/memory/recall', {}, 'body.query: expected a question or a key'],
    ['/v1/memory/recall', {query: 'a', limit: 99}, 'body.limit: expected 1 to 50'],
    ['/v1/memory/recall', {key: 'No Key'}, 'body.key: expected lower-case words'],
    ['/v1/memory/proposals', {proposals: []}, 'body.proposals: expected at least one'],
    ['/v1/memory/items?after=x', undefined, 'after: expected a cursor'],
  ])('[MEM-2] %s with bad input %j names the field and what is expected', async (path, body, message) => {
    const init = body ? {method: 'POST', body: JSON.stringify(body)} : {}
    const answer = await accepting().app.request(path, {headers: headersOf(someone()), ...init})
    expect(answer.status).toBe(400)
    expect(((await answer.json()) as Refused).error.message).toContain(message)
  })
})
