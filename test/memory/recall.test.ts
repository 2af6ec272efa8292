import {describe, expect, test} from 'vitest'
import {RecallIndex} from '../../runtime/memory/recall-index.ts'
import type {Embedder} from '../../runtime/protocol/embedder.ts'
import type {MemoryId} from '../../runtime/protocol/ids.ts'
import {isRecord} from '../../runtime/protocol/memory.ts'
import {loadRecallSet} from './support/load-recall-set.ts'
import {stale} from './support/recall-set.ts'

const set = loadRecallSet()
const index = new RecallIndex(set.items, new Map())
const ask = (query: string, limit = 50) => index.recall({query, limit, now: set.now}, null)

describe('recall', () => {
  test('[MEM-3] nothing stale is ever recalled, by any question and however many are asked for', async () => {
    expect(set.questions.length).toBeGreaterThanOrEqual(120)
    const questions = [...set.questions.map(({asked}) => asked), ...set.staleQuestions, ...stale.map(({text}) => text)]
    for (const question of questions) {
      const texts = (await ask(question)).map(({item}) => item.text)
      expect(texts.filter(text => stale.some(({marker}) => text.includes(marker)))).toEqual([])
    }
  })

  test('[MEM-3] nothing stale is found by meaning either, whatever is near', async () => {
    const near = new Map(set.items.map(({id}) => [id, Float32Array.of(1, 0)]))
    const same: Embedder = {name: 'same', dimensions: 2, embed: async texts => texts.map(() => Float32Array.of(1, 0))}
    const found = await new RecallIndex(set.items, near).recall({query: 'anything', limit: 50, now: set.now}, same)
    expect(found).toHaveLength(50)
    expect(found.filter(({item}) => stale.some(({marker}) => item.text.includes(marker)))).toEqual([])
  })

  test('[MEM-1] by words alone, at least 15 of 100 paraphrased questions find their fact among the first three', async () => {
    let found = 0
    for (const {asked, answer} of set.questions) {
      if ((await ask(asked, 3)).some(({item}) => item.id === answer)) found += 1
    }
    expect(found / set.questions.length).toBeGreaterThanOrEqual(0.15)
  })

  test('[MEM-1] a key finds its item and everything under it, before all else', async () => {
    const exact = await index.recall({key: 'preference/seat', query: 'coffee', now: set.now}, null)
    expect(exact[0]).toMatchObject({by: ['key'], score: 1, item: {key: 'preference/seat'}})
    const under = await index.recall({key: 'preference', limit: 50, now: set.now}, null)
    const wanted = set.items.filter(
      item => isRecord(item) && item.status === 'accepted' && item.key?.startsWith('preference/'),
    )
    expect(under).toHaveLength(wanted.length)
    expect(await index.recall({key: 'prefer', now: set.now}, null)).toEqual([])
  })

  test('[MEM-3] every answer says from which events it came', async () => {
    for (const {item, by} of await ask('refund')) {
      expect(item.sources[0]?.events.length).toBeGreaterThan(0)
      expect(by).toEqual(['text'])
    }
  })

  test('[MEM-4] an embedder that fails leaves what full text finds', async () => {
    const broken: Embedder = {name: 'broken', dimensions: 2, embed: () => Promise.reject(new Error('no model'))}
    const some = new Map<MemoryId, Float32Array>(set.items.map(({id}) => [id, Float32Array.of(1, 0)]))
    const found = await new RecallIndex(set.items, some).recall({query: 'cello', now: set.now}, broken)
    expect(found).toMatchObject([{item: {text: expect.stringContaining('cello')}, by: ['text']}])
  })

  test('[MEM-1] no vector is compared with one of other dimensions', async () => {
    const wide: Embedder = {name: 'wide', dimensions: 3, embed: async () => [Float32Array.of(1, 0, 0)]}
    const narrow = new Map<MemoryId, Float32Array>(set.items.map(({id}) => [id, Float32Array.of(1, 0)]))
    expect(await new RecallIndex(set.items, narrow).recall({query: 'zzz', now: set.now}, wide)).toEqual([])
  })
})
