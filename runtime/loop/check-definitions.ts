import * as z from 'zod'
import {checkOptions, filledText, functionSchema, havingMethods, valueThat} from '../protocol/check-options.ts'
import {documentNameSchema} from '../protocol/document.ts'
import {chosenSchema} from '../protocol/field-faults.ts'
import {modelFault} from '../protocol/model-fault.ts'
import {budgetsSchema, memoryProfileSchema, modelProfileSchema, policyProfileSchema} from '../protocol/pin.ts'
import {effectSchema, type ToolContract} from '../protocol/tool.ts'
import type {Agent, AgentHost} from './define.ts'

type Shape<Options> = Record<keyof Options, z.ZodType>

/** Names of tools and agents become part of paths and of requests to models. */
const isName = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(value)
const nameSchema = valueThat<string>('a letter, then up to 63 letters, digits, "_" or "-"', isName)

/** A run pins it. */
const versionSchema = valueThat<string>(
  'text of 1 to 50 characters',
  value => typeof value === 'string' && value.trim() !== '' && value.length <= 50,
)

const inputSchema = havingMethods('a Zod schema', ['safeParse'])

const toolSchema = z.strictObject({
  name: nameSchema,
  description: filledText,
  effect: effectSchema.optional(),
  version: filledText.optional(),
  input: inputSchema,
} satisfies Shape<ToolContract>)

/** A tool as `defineTool` returns it. */
export const contractSchema = z.looseObject({
  name: filledText,
  description: z.string(),
  effect: effectSchema,
  version: filledText,
  input: inputSchema,
} satisfies Shape<ToolContract>)

const agentSchema = z.strictObject({
  name: nameSchema,
  version: versionSchema,
  instructions: z.string(),
  tools: distinct(z.array(contractSchema), tools => tools.map(tool => tool.name), 'tools are named'),
  budgets: budgetsSchema.partial().optional(),
  policy: policyProfileSchema.omit({busy: true}).partial().optional(),
  memory: memoryProfileSchema.optional(),
  documents: distinct(z.array(documentNameSchema).max(8), names => names, 'documents are named').optional(),
  summaries: z.enum(['model', 'rules']).optional(),
} satisfies Shape<Agent>)

function distinct<Item>(list: z.ZodType<Item[]>, namesOf: (items: Item[]) => string[], twice: string) {
  return list.superRefine((items, context) => {
    const names = namesOf(items)
    const again = names.find((name, i) => names.indexOf(name) !== i)
    if (again !== undefined) context.addIssue({code: 'custom', message: `two ${twice} "${again.slice(0, 64)}"`})
  })
}

/** @throws HoldfastError `misconfigured` naming every wrong field */
export function checkTool(tool: unknown): void {
  checkOptions(toolSchema, tool, labelOf('tool', tool) ?? 'defineTool')
}

/** @throws HoldfastError `misconfigured` naming every wrong field */
export function checkAgent(agent: unknown): void {
  checkOptions(agentSchema, agent, labelOf('agent', agent) ?? 'defineAgent')
}

/** A build defines many tools: an error names the one that is wrong. */
function labelOf(what: string, value: unknown): string | null {
  const named = z.looseObject({name: nameSchema}).safeParse(value)
  return named.success ? `${what} ${named.data.name}` : null
}

export const definedAgent = valueThat(
  'an agent, as defineAgent returns it',
  value => agentParts.safeParse(value).success,
)
const agentParts = z.looseObject({
  name: nameSchema,
  version: versionSchema,
  instructions: z.string(),
  tools: z.array(contractSchema),
  budgets: budgetsSchema,
  policy: z.looseObject({}),
  memory: memoryProfileSchema,
})

export const modelSchema = z.custom(model => modelFault(model) === null, {
  error: ({input}) => modelFault(input) ?? 'expected a model',
})

/** A model may be callable too. A model that a function returns is checked when it is used. */
export const modelSourceSchema = chosenSchema(source =>
  typeof source === 'function' && !('specificationVersion' in source) ? functionSchema : modelSchema,
)

/** What runs an agent, besides the agent itself. Names and functions of `tools` are checked when all agents are known. */
export const implementationShape = {
  model: modelSourceSchema,
  tools: valueThat('an object with a function for each tool', isObject),
  modelProfiles: z.record(z.string(), modelProfileSchema.omit({label: true})).optional(),
} satisfies Shape<Omit<AgentHost, 'agent'>>

export const hostSchema = z.strictObject({agent: definedAgent, ...implementationShape} satisfies Shape<AgentHost>)
const implementationSchema = z.strictObject(implementationShape)

/** @throws HoldfastError `misconfigured` naming every wrong field */
export function checkHost(agent: unknown, implementation: unknown): void {
  checkOptions(definedAgent, agent, 'agentHost: agent')
  checkOptions(implementationSchema, implementation, 'agentHost')
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What `openRuntime` of Node and `serveAgent` both take. */
export const servingShape = {
  ...implementationShape,
  also: z.array(hostSchema).optional(),
  router: functionSchema.optional(),
  memory: z
    .strictObject({
      extractor: havingMethods('an extractor with name and extract', ['extract']).optional(),
      embedder: havingMethods('an embedder with name, dimensions and embed', ['embed']).optional(),
    })
    .optional(),
  log: functionSchema.optional(),
}
