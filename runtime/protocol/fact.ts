import * as z from 'zod'
import {jsonSchema} from './json.ts'
import {factKeySchema} from './tool.ts'

/** A business fact as the server has it; null value means that the server knows there is no such thing. [FACT-1] */
export const factSchema = z.strictObject({
  key: factKeySchema,
  value: jsonSchema,
  /** Opaque, changes whenever the value does. */
  version: z.string().min(1).max(200),
})
export type Fact = z.infer<typeof factSchema>

/** What a read tool gets on a device: the fact, and whether it is the server's word of now or a copy. [FACT-2] */
export type FactReading = Fact & {source: 'server' | 'replica'; ageMs: number}
