import * as z from 'zod'
import {
  amountOf,
  checkOptions,
  filledText,
  functionSchema,
  havingMethods,
  positiveMs,
} from '../runtime/protocol/check-options.ts'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {effectSchema, type ToolContract} from '../runtime/protocol/tool.ts'
import type {OperationDefinition, Operations} from './define-operation.ts'

type Shape<Options> = Record<keyof Options, z.ZodType>

const toolSchema = z.looseObject({
  name: filledText,
  description: z.string(),
  effect: effectSchema,
  version: filledText,
  input: havingMethods('a Zod schema', ['safeParse']),
} satisfies Shape<ToolContract>)

const positive = z.number().positive()
const per = z.enum(['tenant', 'subject']).optional()
const limitSchema = z.discriminatedUnion('kind', [
  z.strictObject({kind: z.literal('rate'), starts: positive, inMs: positive, per}),
  z.strictObject({kind: z.literal('amount'), sum: positive, inMs: positive, per}),
  z.strictObject({kind: z.literal('single'), amount: positive}),
  z.strictObject({kind: z.literal('concurrency'), atOnce: amountOf(1), per}),
])

export const operationSchema = z.strictObject({
  tool: toolSchema,
  deadlineMs: positiveMs.optional(),
  authorise: functionSchema,
  recheck: functionSchema,
  execute: functionSchema,
  reconcile: functionSchema.optional(),
  verdictRole: filledText.optional(),
  limits: z.array(limitSchema).optional(),
  amount: functionSchema.optional(),
  amountWords: functionSchema.optional(),
} satisfies Shape<OperationDefinition>)

/** @throws HoldfastError `misconfigured` naming every invalid field */
export function checkOperation(definition: unknown): void {
  checkOptions(operationSchema, definition, 'defineOperation')
}

/** @throws HoldfastError `misconfigured` naming the operation and the invalid field */
export function checkOperations(operations: Operations): void {
  for (const [name, definition] of Object.entries(operations)) {
    const fault = faultOf(name, definition)
    if (fault) throw new HoldfastError('misconfigured', `operations.${name}: ${fault}`)
  }
}

function faultOf(name: string, definition: OperationDefinition): string | null {
  const {tool, limits = [], amount, reconcile, verdictRole} = definition
  if (tool.name !== name) return `expected a tool of this name, got "${tool.name}".`
  if (tool.effect !== 'external') return `expected effect "external", got "${tool.effect}".`
  // Without either, an unknown outcome could never be resolved.
  if (!reconcile && !verdictRole) return 'expected a reconcile or a verdictRole.'
  const counted = limits.find(({kind}) => kind === 'amount' || kind === 'single')
  return counted && !amount ? `limits: "${counted.kind}" needs a function amount.` : null
}
