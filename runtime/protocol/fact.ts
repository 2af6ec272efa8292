import * as z from 'zod'
import {jsonSchema} from './json.ts'
import {factKeySchema} from './tool.ts'

const version = z.string().min(1).max(200)

/** A business fact as the server has it; null value means that the server knows there is no such thing. [FACT-1] */
export const factSchema = z.strictObject({
  key: factKeySchema,
  value: jsonSchema,
  /** Opaque, changes whenever the value does. */
  version,
})
export type Fact = z.infer<typeof factSchema>

/** Facts of one request. */
export const batchFacts = 100

/** Several facts at once; `known` are the versions that the device holds, so that what is as it was need not be sent. */
export const factsRequestSchema = z.strictObject({
  keys: z.array(factKeySchema).min(1).max(batchFacts, `expected at most ${batchFacts} keys`),
  known: z.record(factKeySchema, version).optional(),
})
export type FactsRequest = z.infer<typeof factsRequestSchema>

/** One for each key, in the order asked: the fact, or that it is as the device knows it, or that there is none. */
export const factAnswerSchema = z.union([
  factSchema,
  z.strictObject({key: factKeySchema, unchanged: version}),
  z.strictObject({key: factKeySchema, missing: z.literal(true)}),
])
export type FactAnswer = z.infer<typeof factAnswerSchema>
export const factsAnswerSchema = z.strictObject({facts: z.array(factAnswerSchema).max(batchFacts)})

/** What a read tool gets on a device: the fact, and whether it is the server's word of now or a copy. [FACT-2] */
export type FactReading = Fact & {source: 'server' | 'replica'; ageMs: number}
