import * as z from 'zod'
import {documentNameSchema} from './document.ts'
import {eventIdSchema} from './ids.ts'

export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256 in lower-case hex')

/** A memory item as it was when it was recalled; a corrected one has another revision. */
export const memoryRefSchema = z.strictObject({id: z.string().min(1).max(200), revision: z.int().nonnegative()})
export type MemoryRef = z.infer<typeof memoryRefSchema>

/** A part of a view as people and manifests name it, like `slots`, `document:plan` or an event's id. */
const partSchema = z.string().min(1).max(200)

const transformSchema = z.strictObject({
  part: partSchema,
  /**
   * `over_budget`: the parts that may not be left out exceed the budget. `well_formed`: lone surrogates were replaced
   * by U+FFFD, because providers refuse them.
   */
  how: z.enum(['redacted', 'truncated', 'left_out', 'over_budget', 'well_formed']),
})
export type Transform = z.infer<typeof transformSchema>

/** How large the transcript since the last summary is, and everything else that a view wants to hold beside it. */
const viewSizeSchema = z.strictObject({tokens: z.int().nonnegative(), events: z.int().nonnegative()})

/** Version of the view construction that new manifests use. Manifests without a number were built from events alone. */
export const viewBuilder = 4

/**
 * What went into one model call: enough to rebuild the prompt byte for byte and check its hash. [VIEW-2] Whatever is
 * optional came later; a manifest without it is read as it was meant when it was written.
 */
export const manifestSchema = z.strictObject({
  /** The transcript events that the view was made from, oldest first; with `continues`, what follows after those. */
  events: z.array(eventIdSchema).max(5000),
  /**
   * A step of the same run that names all of its events: they stand before these, but for those from position `from`
   * up to `to`.
   */
  continues: z.strictObject({step: eventIdSchema, from: z.int().nonnegative(), to: z.int().nonnegative()}).optional(),
  /** Messages that this step is the first to see. */
  answers: z.array(eventIdSchema).max(500),
  estimatedTokens: z.int().nonnegative(),
  /** SHA-256 of the canonical JSON of the exact prompt. */
  promptHash: sha256Schema,
  builder: z.int().min(2).optional(),
  agent: z.strictObject({name: z.string().max(100), version: z.string().max(50)}).optional(),
  /** The budget that sections were bounded by. */
  viewTokens: z.int().positive().optional(),
  /** The compaction whose summary stands for everything before `events`. */
  summary: eventIdSchema.optional(),
  /** SHA-256 of the canonical JSON of the slots; their text is folded from the log again. */
  slots: sha256Schema.optional(),
  /** A Yjs snapshot (base64) picks exactly the edits that were there, in whatever order the log got them. */
  documents: z
    .array(z.strictObject({name: documentNameSchema, snapshot: z.base64().max(43_692)}))
    .max(8)
    .optional(),
  memory: z.array(memoryRefSchema).max(50).optional(),
  /** Estimated tokens to which longer texts of the turns were cut. Absent: not cut. */
  excerpt: z.int().positive().optional(),
  transforms: z.array(transformSchema).max(1000).optional(),
  /** Without the budget: decides when it is time to summarise. */
  whole: viewSizeSchema.optional(),
})
export type Manifest = z.infer<typeof manifestSchema>
