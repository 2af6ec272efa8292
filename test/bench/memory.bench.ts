import {beforeAll, expect, test} from 'vitest'
import {RecallIndex} from '../../runtime/memory/recall-index.ts'
import {sentenceEmbedder} from '../../runtime/memory/sentence-embedder.ts'
import type {Embedder} from '../../runtime/protocol/embedder.ts'
import type {MemoryId} from '../../runtime/protocol/ids.ts'
import {isInForce, type MemoryRecord} from '../../runtime/protocol/memory.ts'
import {type RecalledMemory, rankByMeaning, recallFrom} from '../../runtime/protocol/memory-recall.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {loadRecallSet} from '../memory/support/load-recall-set.ts'
import {stale} from '../memory/support/recall-set.ts'
import {median, report} from './support/report.ts'

const set = loadRecallSet()
const inForce = set.items.filter(isInForce)
const real = sentenceEmbedder()
const vectors = new Map<MemoryId, Float32Array>()
const asked = new Map<string, Float32Array>()
/** Each text is embedded once for the whole bench. */
const remembered: Embedder = {
  ...real,
  embed: async texts => texts.map(text => asked.get(text) ?? new Float32Array(512)),
}

beforeAll(async () => {
  for (const {id, text} of inForce) vectors.set(id, (await real.embed([text]))[0] as Float32Array)
  const questions = [...set.questions.map(question => question.asked), ...set.staleQuestions]
  for (const question of questions) asked.set(question, (await real.embed([question]))[0] as Float32Array)
}, 900_000)

type Ask = (query: string) => Promise<RecalledMemory[]>
type Score = {first: number; third: number; stale: number}

async function scoreOf(ask: Ask): Promise<Score> {
  const score: Score = {first: 0, third: 0, stale: 0}
  for (const {asked: query, answer} of set.questions) {
    const found = (await ask(query)).map(({item}) => item.id)
    if (found[0] === answer) score.first += 1
    if (found.slice(0, 3).includes(answer)) score.third += 1
  }
  for (const query of [...set.staleQuestions, ...set.questions.map(one => one.asked)]) {
    const found = await ask(query)
    score.stale += found.filter(({item}) => stale.some(({marker}) => item.text.includes(marker))).length
  }
  return score
}

/** The yardstick: how many of a question's letter triples an item shares. */
const byTrigrams: Ask = async query => {
  const wanted = trigrams(query)
  const overlap = (text: string) => [...trigrams(text)].filter(one => wanted.has(one)).length / wanted.size
  const scores = new Map(inForce.map(({id, text}) => [id, overlap(text)]))
  return recallFrom(inForce, {query, now: set.now}, [{by: 'text', scores}])
}

function trigrams(text: string): Set<string> {
  const plain = ` ${text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()} `
  return new Set(Array.from({length: Math.max(0, plain.length - 2)}, (_, i) => plain.slice(i, i + 3)))
}

test('recall of paraphrased questions, against letter triples', async () => {
  const now = set.now
  const words = new RecallIndex(set.items, new Map())
  const both = new RecallIndex(set.items, vectors)
  const ways: [string, Ask][] = [
    ['full text', query => words.recall({query, now}, null)],
    [
      'vectors',
      async query => recallFrom(set.items, {query, now}, [rankByMeaning(asked.get(query) as Float32Array, vectors)]),
    ],
    ['hybrid', query => both.recall({query, now}, remembered)],
  ]
  const yardstick = await scoreOf(byTrigrams)
  const all = set.questions.length
  const percent = (count: number) => `${((100 * count) / all).toFixed(0)}%`
  console.log(`${inForce.length} items in force, ${stale.length} stale, ${all} questions`)
  console.log(`letter triples: recall@1 ${percent(yardstick.first)}, recall@3 ${percent(yardstick.third)}`)
  for (const [name, ask] of ways) {
    const score = await scoreOf(ask)
    console.log(
      `${name}: recall@1 ${percent(score.first)}, recall@3 ${percent(score.third)}, stale ${score.stale}; ` +
        `÷ letter triples = ${(score.first / yardstick.first).toFixed(2)}× at 1, ${(score.third / yardstick.third).toFixed(2)}× at 3`,
    )
    expect(score.stale).toBe(0)
  }
})

test('one question over a full memory, against one pass over its vectors', async () => {
  const items = Array.from({length: limits.memoryItems}, (_, i): MemoryRecord => {
    const item = inForce[i % inForce.length] as MemoryRecord
    return {...item, id: `${item.id}-${i}` as MemoryId, text: `${item.text} ${i}`}
  })
  const near = new Map(items.map((item, i) => [item.id, vectors.get(inForce[i % inForce.length]?.id as MemoryId)!]))
  const full = new RecallIndex(items, near)
  const query = set.questions[0]?.asked as string
  const pass = {
    name: 'one pass over its vectors',
    ms: await median(50, async () => rankByMeaning(asked.get(query) as Float32Array, near)),
  }
  const hybrid = await median(50, () => full.recall({query, now: set.now}, remembered))
  report(`hybrid recall over ${limits.memoryItems} items`, pass, hybrid, '≤ 10×')
  const fresh = await median(10, () => new RecallIndex(items, near).recall({query, now: set.now}, null))
  report(`full text over ${limits.memoryItems} items, index built first`, pass, fresh, '≤ 30×')
})
