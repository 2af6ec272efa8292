import * as z from 'zod'
import {nameSchema} from './text.ts'

/**
 * What running a tool can change [OP-1]: `read` nothing, `local` only the in-process database (in the transaction of
 * its own result event), `external` the outside world, so it runs on the server as an operation.
 */
export const effectSchema = z.enum(['read', 'local', 'external'])
export type Effect = z.infer<typeof effectSchema>

/** The contract of a tool, shared by device and server: no code, only what both must agree on. */
export type ToolContract<Input = unknown> = {
  readonly name: string
  readonly description: string
  readonly effect: Effect
  /** Part of an operation's digest; raise it when the input or its meaning changes. */
  readonly version: string
  readonly input: z.ZodType<Input>
}

/** SHA-256, lower-case hex, over canonical JSON (RFC 8785). */
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256 in lower-case hex')

/** What a run pins of a tool: enough to notice that the contract changed under it. [PIN-1] */
export const pinnedToolSchema = z.strictObject({
  name: z.string(),
  version: z.string(),
  effect: effectSchema,
  /** Over name, version, effect, description and the JSON schema of the input. */
  hash: sha256Schema,
})
export type PinnedTool = z.infer<typeof pinnedToolSchema>

/** The key of a business fact, as the application names it, like `order/A17`. */
export const factKeySchema = nameSchema(200)

/** The versions of the facts that something rests on, by key. [OP-2] */
export const basisSchema = z.record(factKeySchema, z.string().max(200))
export type Basis = z.infer<typeof basisSchema>
