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

/** What counts as near in meaning at all, as a cosine: below it every question would find something. */
export const nearestMeaning = 0.35

/**
 * One order from several rankings. A key that matches comes first; a full-text score counts relative to the best one,
 * a cosine as it is. Whatever is not valid at `now` is left out here, whoever ranked it. [MEM-3]
 */
export function recallFrom(
  items: readonly MemoryItem[],
  ask: RecallAsk & {now: number},
  rankings: readonly Ranking[],
): RecalledMemory[] {
  const scaled = rankings.map(({by, scores}) => ({
    by,
    scores,
    top: by === 'text' ? Math.max(0, ...scores.values()) : 1,
  }))
  const found = items.filter(item => isValidAt(item, ask.now)).flatMap(item => recalled(item, ask.key, scaled) ?? [])
  found.sort((a, b) => b.score - a.score || (a.item.id < b.item.id ? -1 : 1))
  return found.slice(0, ask.limit ?? recallLimit)
}

function recalled(
  item: MemoryRecord,
  key: string | undefined,
  rankings: readonly (Ranking & {top: number})[],
): RecalledMemory | null {
  if (key !== undefined && isUnder(item.key, key)) return {item, score: 1, by: ['key']}
  const matched = rankings.flatMap(({by, scores, top}) => {
    const score = scores.get(item.id)
    return score === undefined || top === 0 ? [] : [{by, score: score / top}]
  })
  if (matched.length === 0) return null
  const score = matched.reduce((sum, {score}) => sum + score, 0) / rankings.length
  return {item, score, by: matched.map(({by}) => by)}
}

/** `preference` finds `preference/refund-channel` too. */
function isUnder(key: string | null, asked: string): boolean {
  return key !== null && (key === asked || key.startsWith(`${asked}/`))
}

/** Cosine of two vectors of the same embedder; 0 when either has no length. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0
  let lengthA = 0
  let lengthB = 0
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0]
    dot += x * y
    lengthA += x * x
    lengthB += y * y
  }
  return lengthA === 0 || lengthB === 0 ? 0 : dot / Math.sqrt(lengthA * lengthB)
}
