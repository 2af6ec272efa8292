import * as z from 'zod'
import type {MemoryId} from './ids.ts'
import {isValidAt, type MemoryItem, type MemoryRecord, memoryKeySchema, memoryRecordSchema} from './memory.ts'

/** A question in plain words, a key, or both. */
export const recallAskSchema = z
  .strictObject({
    query: z.string().max(1000, 'expected at most 1000 characters').optional(),
    key: memoryKeySchema.optional(),
    limit: z.int('expected 1 to 50').min(1, 'expected 1 to 50').max(50, 'expected 1 to 50').optional(),
  })
  .refine(({query, key}) => key !== undefined || (query ?? '').trim() !== '', {
    message: 'expected a question or a key',
    path: ['query'],
  })
export type RecallAsk = z.infer<typeof recallAskSchema>

/** An item that is valid now, and how it was found; `sources` of the item say where it came from. [MEM-3] */
export const recalledMemorySchema = z.strictObject({
  item: memoryRecordSchema,
  /** From 0 to 1, comparable within one answer only. */
  score: z.number(),
  by: z.array(z.enum(['key', 'text', 'meaning'])).min(1),
})
export type RecalledMemory = z.infer<typeof recalledMemorySchema>
export const recallAnswerSchema = z.strictObject({recalled: z.array(recalledMemorySchema)})

/** Unless told, so many items answer a question. */
export const recallLimit = 5

/** How well each item matches, by the way that found it; what is missing did not match that way. */
export type Ranking = {by: 'text' | 'meaning'; scores: ReadonlyMap<MemoryId, number>}

const stopWords = new Set(
  `a about am an and any are as at be been but by can did do does for from get had has have he her him his how i if in is
  it its let me my no not of on one or our out s she should so some t than that the their them then there they this to up
  us was we were what when where which who whom why will with would you your`.split(/\s+/),
)

/**
 * How texts are searched by their words, for MiniSearch on both sides: endings are cut so that "refunds" and "refunded"
 * meet, a slip of a letter is forgiven, and the words of a key count more than those of the text. Pieces of words would
 * find a few more paraphrases (`npm run bench memory`) and with them much that has nothing to do with the question.
 */
export const fullTextOptions = {
  fields: ['text', 'key'],
  processTerm: (term: string) => {
    const word = term
      .toLowerCase()
      .normalize('NFKD')
      .replaceAll(/\p{Mark}/gu, '')
    return stopWords.has(word) ? null : stem(word)
  },
  searchOptions: {
    boost: {key: 1.5},
    prefix: (term: string) => term.length > 2,
    // In a short word one other letter is another word.
    fuzzy: (term: string) => (term.length > 4 ? 0.2 : false),
  },
}

/** Beginnings and slips of each word are looked up in the whole vocabulary: 100 words over 800 long items take a second. */
const mostWordsMatchedLoosely = 12

/** How this question is searched, the same on both sides: a long one by whole words only, which bounds its cost. */
export function searchOptionsOf(question: string): {prefix?: false; fuzzy?: false} {
  const words = new Set(question.toLowerCase().match(/[\p{L}\p{N}]+/gu))
  return words.size > mostWordsMatchedLoosely ? {prefix: false, fuzzy: false} : {}
}

/** The same for "live" and "lives", "refund" and "refunded": it need be no word, only the same. */
function stem(word: string): string {
  const base = word.length < 5 ? word.replace(/s$/, '') : word.replace(longEndings, '')
  return base.replace(/(?:ie?|e|y)$/, '')
}

const longEndings = /(?:ations?|ments?|ings?|edly|ers?|ed|es|ly|s)$/

/** What counts as near in meaning at all, as a cosine: without a bound every question would find everything. */
const nearestMeaning = 0.2

/** A full-text score that counts half; it levels off, since a second rare word says little more than the first. */
const halfScore = 10

/** How much a match of words adds to a cosine; more of it made paraphrased questions find less. */
const wordsBesideMeaning = 0.1

/**
 * One order from several rankings. A key that matches comes first; else meaning leads and words decide between what is
 * alike. Whatever is not valid at `now` is left out here, whoever ranked it. [MEM-3]
 */
export function recallFrom(
  items: readonly MemoryItem[],
  ask: RecallAsk & {now: number},
  rankings: readonly Ranking[],
): RecalledMemory[] {
  const found = items.filter(item => isValidAt(item, ask.now)).flatMap(item => recalled(item, ask.key, rankings) ?? [])
  found.sort((a, b) => b.score - a.score || (a.item.id < b.item.id ? -1 : 1))
  return found.slice(0, ask.limit ?? recallLimit)
}

function recalled(item: MemoryRecord, key: string | undefined, rankings: readonly Ranking[]): RecalledMemory | null {
  if (key !== undefined && isUnder(item.key, key)) return {item, score: 1, by: ['key']}
  const by = rankings.flatMap(ranking => (ranking.scores.has(item.id) ? [ranking.by] : []))
  if (by.length === 0) return null
  const scoreBy = (way: Ranking['by']) => rankings.find(one => one.by === way)?.scores.get(item.id)
  const text = scoreBy('text') ?? 0
  const words = text / (text + halfScore)
  if (!rankings.some(one => one.by === 'meaning')) return {item, score: words, by}
  // Without a vector yet, its words must still be able to bring it in.
  const meaning = scoreBy('meaning') ?? nearestMeaning
  return {item, score: (meaning + wordsBesideMeaning * words) / (1 + wordsBesideMeaning), by}
}

/** `preference` finds `preference/refund-channel` too. */
function isUnder(key: string | null, asked: string): boolean {
  return key !== null && (key === asked || key.startsWith(`${asked}/`))
}

/** How near each vector is to that of the question; what is not near at all is left out. */
export function rankByMeaning(asked: Float32Array, vectors: Iterable<readonly [MemoryId, Float32Array]>): Ranking {
  const scores = new Map<MemoryId, number>()
  for (const [id, vector] of vectors) {
    const near = asked.length === vector.length ? cosine(asked, vector) : 0
    if (near >= nearestMeaning) scores.set(id, near)
  }
  return {by: 'meaning', scores}
}

/** Cosine of two vectors of the same embedder; 0 when either has no length. */
function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0
  let lengthA = 0
  let lengthB = 0
  for (let i = 0; i < a.length; i++) {
    const x = a[i] ?? 0
    const y = b[i] ?? 0
    dot += x * y
    lengthA += x * x
    lengthB += y * y
  }
  return lengthA === 0 || lengthB === 0 ? 0 : dot / Math.sqrt(lengthA * lengthB)
}
