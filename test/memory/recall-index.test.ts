import {expect, test, vi} from 'vitest'
import type {SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import {type MemoryRecord, proposedMemory} from '../../runtime/protocol/memory.ts'
import {searchOptionsOf} from '../../runtime/protocol/memory-recall.ts'
import {recallIndexes} from '../../sync-server/authority/recall-index.ts'
import {createBus, serverEnvironment as env, openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {proposalOf} from './support/teller.ts'

const database = testDatabase()
const told = {session: env.id('session'), event: env.id('event')}

async function opened() {
  const store = await openPgStore(pgliteSql(database.db))
  const owner = {tenant: 'acme' as TenantId, subject: env.id('event') as string as SubjectId}
  const bus = createBus()
  const save = (item: Parameters<typeof proposedMemory>[0] & Partial<MemoryRecord>, status: MemoryRecord['status']) =>
    store.memory.locked(owner, memory =>
      memory.save(
        {...proposedMemory(item, 1), status},
        {...owner, action: `memory.${status}` as const, about: item.id, reason: '', at: 1},
      ),
    )
  const forget = (id: MemoryRecord['id']) =>
    store.memory.locked(owner, memory =>
      memory.save(
        {id, status: 'forgotten', updatedAt: 2},
        {...owner, action: 'memory.forgotten' as const, about: id, reason: '', at: 2},
      ),
    )
  return {store, owner, bus, save, forget, indexes: recallIndexes({store, bus}, '')}
}

test('[MEM-3] an index is built once; what is new, corrected or forgotten is in the next answer', async () => {
  const {store, owner, save, forget, indexes} = await opened()
  const read = vi.spyOn(store.memory, 'inForce')
  const mug = proposalOf(told, {text: 'Collects blue mugs.'})
  const city = proposalOf(told, {text: 'Lives in Porto.'})
  const found = async (query: string) => [...(await indexes.of(owner)).search(query).keys()]
  await save(mug, 'accepted')
  expect(await found('mugs')).toEqual([mug.id])
  await save(city, 'accepted')
  expect(await found('Porto')).toEqual([city.id])
  await save({...mug, text: 'Collects teapots.'}, 'corrected')
  expect(await found('mugs')).toEqual([])
  expect(await found('teapots')).toEqual([mug.id])
  await forget(city.id)
  expect(await found('Porto')).toEqual([])
  expect((await indexes.of(owner)).items().map(({id}) => id)).toEqual([mug.id])
  expect(read).toHaveBeenCalledTimes(1)
})

test('[MEM-3] what is forgotten leaves a kept index when this process hears of it, before anybody asks', async () => {
  const {owner, bus, save, forget, indexes} = await opened()
  const mug = proposalOf(told, {text: 'Collects blue mugs.'})
  await save(mug, 'accepted')
  const index = await indexes.of(owner)
  expect(index.search('mugs').size).toBe(1)
  await forget(mug.id)
  bus.publish({type: 'memory', ...owner})
  await expect.poll(() => index.search('mugs').size).toBe(0)
})

test('a fault of the database costs one answer, and the next builds the index anew', async () => {
  const {store, owner, save, indexes} = await opened()
  await save(proposalOf(told, {text: 'Collects blue mugs.'}), 'accepted')
  await indexes.of(owner)
  vi.spyOn(store.memory, 'changes').mockRejectedValueOnce(new Error('down'))
  await expect(indexes.of(owner)).rejects.toThrow('down')
  expect((await indexes.of(owner)).search('mugs').size).toBe(1)
})

test('[MEM-3] a long question is searched by whole words; a short one forgives slips and beginnings', () => {
  const long = 'one two three four five six seven eight nine ten eleven twelve thirteen'
  expect(searchOptionsOf(long)).toEqual({prefix: false, fuzzy: false})
  expect(searchOptionsOf(`${'blue mugs '.repeat(50)}`)).toEqual({})
})
