import {expect, test} from 'vitest'
import {sentenceEmbedder} from '../../runtime/embedder.ts'
import {RecallIndex} from '../../runtime/memory/recall-index.ts'
import type {MemoryId} from '../../runtime/protocol/ids.ts'
import {isInForce} from '../../runtime/protocol/memory.ts'
import {loadRecallSet} from './support/load-recall-set.ts'

const set = loadRecallSet()
const items = set.items.filter(isInForce).filter(({text}) => /greyhound|seasick|invoice|vegetarian|leather/.test(text))

test('[MEM-1] with the sentence model, a question finds its fact although they share no word', async () => {
  const embedder = sentenceEmbedder()
  const made = await embedder.embed(items.map(({text}) => text))
  expect(made.map(vector => vector.length)).toEqual(items.map(() => embedder.dimensions))
  const index = new RecallIndex(items, new Map<MemoryId, Float32Array>(items.map(({id}, i) => [id, made[i]!])))
  const found = await index.recall({query: 'Does she have a pet?', limit: 1, now: set.now}, embedder)
  expect(found).toMatchObject([{item: {text: 'Owns an old greyhound named Comet.'}, by: ['meaning']}])
})

test('[MEM-1] a model whose files are not there says so, and is asked for again the next time', async () => {
  const embedder = sentenceEmbedder({url: 'http://127.0.0.1:9/'})
  for (const text of ['once', 'again']) {
    await expect(embedder.embed([text])).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('the sentence model cannot be loaded'),
    })
  }
})
