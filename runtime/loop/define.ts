import * as z from 'zod'
import type {BlobRef} from '../protocol/blob.ts'
import {checkOptions} from '../protocol/check-options.ts'
import {badInput, HoldfastError} from '../protocol/errors.ts'
import type {FactReading} from '../protocol/fact.ts'
import type {CallId, RunId, SessionId} from '../protocol/ids.ts'
import {
  type Budgets,
  budgetsSchema,
  type MemoryProfile,
  type ModelProfile,
  memoryProfileSchema,
  type Pin,
  policyProfileSchema,
} from '../protocol/pin.ts'
import type {Slots} from '../protocol/slots.ts'
import type {Effect, ToolContract} from '../protocol/tool.ts'
import {checkAgent, checkHost, checkTool, modelSchema} from './check-definitions.ts'
import {type LanguageModel, requireModel} from './language-model.ts'
import {requireJsonInput} from './require-json-input.ts'
import type {SlotEditor} from './slot-editor.ts'
import type {ToolOutput} from './storable-result.ts'

/**
 * Declares a tool's contract, shared by device and server. Default of `effect`: `external`. [OP-1]
 *
 * @throws HoldfastError `misconfigured` with every invalid field
 * @example
 * const lookupOrder = defineTool({
 *   name: 'lookupOrder', description: 'Read one order.', effect: 'read', input: z.object({orderId: z.string()}),
 * })
 */
export function defineTool<const Name extends string, Input, const Declared extends Effect = 'external'>(tool: {
  name: Name
  description: string
  input: z.ZodType<Input>
  effect?: Declared
  version?: string
}): ToolContract<Input> & {readonly name: Name; readonly effect: Declared} {
  checkTool(tool)
  requireJsonInput(tool.name, tool.input)
  const {version = '1', effect = 'external' as Declared} = tool
  return Object.freeze({...tool, version, effect})
}

export type Agent<Tools extends readonly ToolContract[] = readonly ToolContract[]> = {
  readonly name: string
  readonly version: string
  readonly instructions: string
  readonly tools: Tools
  readonly budgets: Budgets
  /** The policy profile without `busy`, which belongs to the session. */
  readonly policy: Omit<Pin['policy'], 'busy'>
  readonly memory: MemoryProfile
  /** Shared documents whose text goes into every view, at most 8. */
  readonly documents?: readonly string[]
  /** What summarises earlier turns when a view grows too large. Default: `model`. [VIEW-3] */
  readonly summaries?: 'model' | 'rules'
}

export const defaultBudgets: Budgets = {
  maxSteps: 20,
  maxToolCallsPerStep: 16,
  maxToolCalls: 200,
  maxTokens: 2_000_000,
  maxCost: null,
  wallMs: 3_600_000,
  viewTokens: 16_000,
  modelCallMs: 120_000,
  toolCallMs: 30_000,
  onBound: 'partial',
}

/**
 * Declares an agent: what a run pins when it starts. Raise `version` whenever instructions or tools change. A change
 * under the same version makes running runs wait, and publishing it is refused. [PIN-1]
 *
 * @throws HoldfastError `misconfigured` with every invalid field
 */
export function defineAgent<const Tools extends readonly ToolContract[]>(agent: {
  name: string
  version: string
  instructions: string
  tools: Tools
  budgets?: Partial<Budgets>
  /** Default: named `default`, without approval data. */
  policy?: Partial<Omit<Pin['policy'], 'busy'>>
  /** Default: none, so no memory item reaches a view. */
  memory?: MemoryProfile
  documents?: readonly string[]
  summaries?: 'model' | 'rules'
}): Agent<Tools> {
  checkAgent(agent)
  const where = `agent ${agent.name}`
  // An explicit `modelCallMs` also applies to the first part.
  const first = agent.budgets?.modelCallMs === undefined ? {modelFirstMs: 300_000} : {}
  const budgets = {...defaultBudgets, ...first, ...agent.budgets}
  return Object.freeze({
    ...agent,
    budgets: configured(budgetsSchema, budgets, `${where}: budgets`),
    policy: configured(
      policyProfileSchema.omit({busy: true}),
      {name: 'default', approval: {}, ...agent.policy},
      `${where}: policy`,
    ),
    memory: configured(memoryProfileSchema, agent.memory ?? {name: 'none', maxItems: 0}, `${where}: memory`),
  })
}

/** The second argument of a read or local tool's function. */
export interface ToolContext {
  session: SessionId
  run: RunId
  call: CallId
  /** Aborts at the call's deadline and when the run is cancelled. */
  signal: AbortSignal
  facts: {
    /** Returns the server's fact when it is reachable, else the device's copy with its age. Null when there is no such fact. */
    read(key: string): Promise<FactReading | null>
    /** Reads up to 100 facts in one request, in the order of `keys`. */
    readMany(keys: readonly string[]): Promise<(FactReading | null)[]>
  }
  blobs: {
    /**
     * Returns the bytes of a blob of this session or of one that it inherits from, by the reference in a result or by
     * its id. Missing bytes are fetched from the server; a local tool that has made its first query reads only this
     * device. Also returns the whole text (UTF-8) of which the model was shown an excerpt, by the reference in the
     * excerpt (`event:…`).
     *
     * @throws HoldfastError `bad_input` for an invalid reference, `not_found`, and `offline` when only the server has it
     */
    read(blob: Pick<BlobRef, '$blob'> | string): Promise<Uint8Array>
  }
  /** The agent's working state in this session. It is neither memory nor a business fact. [WRK-1, WRK-4] */
  slots: {read(): Slots}
  /**
   * Suspends the run after all calls of this step have a result, until a time in milliseconds since 1970. A message or an
   * external wake ends the sleep earlier. The last request of a call counts. The sleep survives reload and hand-over.
   *
   * @throws HoldfastError `bad_input` when `until` is not a number
   */
  sleepUntil(until: number, why?: string): void
}

/** The context of a local tool. Its writes commit atomically with the result event. [OP-1] */
export interface LocalToolContext extends ToolContext {
  /**
   * Runs one statement on the application's tables. The first query, or the first use of a document, starts the call's
   * transaction, which ends when the tool returns. Do slow work before it: other writes wait while it is open.
   *
   * @throws HoldfastError `bad_input` for a query that ends the transaction or names tables of Holdfast or the system
   */
  sql<Row>(query: string, params?: unknown[]): Promise<Row[]>
  document: {
    read(name: string): Promise<string>
    write(name: string, text: string): Promise<void>
  }
  slots: SlotEditor
}

type InputOf<Tool> = Tool extends ToolContract<infer Input> ? Input : never
type Implementation<Tool extends ToolContract> = (
  input: InputOf<Tool>,
  context: Tool['effect'] extends 'read' ? ToolContext : LocalToolContext,
) => Promise<ToolOutput> | ToolOutput

/**
 * One function for each read or local tool. A missing function and a function for an external tool, which runs on the
 * server, are errors at the start. A function returns JSON, which may contain `Uint8Array` and `Blob` values of up to
 * 8 MiB. Those values, and JSON over 64 KiB, are stored as blobs. [LOG-5]
 */
export type ToolImplementations<Tools extends readonly ToolContract[]> = {
  [Name in OnDevice<Tools>['name']]?: Implementation<Extract<OnDevice<Tools>, {name: Name}>>
}
type OnDevice<Tools extends readonly ToolContract[]> = Exclude<Tools[number], {readonly effect: 'external'}>

/** Access to the models that are configured on the server. The runtime passes it to a model source. */
export interface ModelGateway {
  /** Names of the models that the server offers, best first. Throws `offline` when the server cannot be reached. */
  models(): Promise<string[]>
  open(name: string): LanguageModel
}

/**
 * A model, or a function that chooses one. For a resumed run `pinned` is the label of the model that it started with: the
 * function must return that model or throw. For a new run `pinned` is null. [PIN-2]
 */
export type ModelSource =
  | LanguageModel
  | ((host: {gateway: ModelGateway; pinned: string | null}) => LanguageModel | Promise<LanguageModel>)

/**
 * Returns the model of a source.
 *
 * @throws HoldfastError `misconfigured` when it is not a model of the provider specification v3 or v4
 */
export async function chosenModel(
  source: ModelSource,
  host: {gateway: ModelGateway; pinned: string | null},
): Promise<LanguageModel> {
  const model = isModel(source) ? source : await source(host)
  requireModel(model)
  return model
}

/** A model may itself be a function, so check for its version field. */
function isModel(source: ModelSource): source is LanguageModel {
  return typeof source !== 'function' || 'specificationVersion' in source
}

/** Checks a model that is given directly. A model that a function returns is checked when it is used. */
export function requireModelSource(source: unknown, where: string): void {
  if (typeof source !== 'function' || 'specificationVersion' in source) requireModel(source, where)
}

/** Stable label that identifies the model across resumes. */
export function modelLabel(model: LanguageModel): string {
  return `${model.provider}/${model.modelId}`
}

const gatewayOptions = z.strictObject({fallback: modelSchema.optional()})

/**
 * Returns a source of the first model that the server's gateway offers. Uses `fallback` when it offers none or cannot be
 * reached. API keys stay on the server.
 *
 * @throws HoldfastError `misconfigured` with every invalid option
 * @example
 * serveAgent(desk, {model: gatewayModel({fallback: rulesModel()}), tools: {lookupOrder}})
 */
export function gatewayModel(options: {fallback?: LanguageModel} = {}): ModelSource {
  checkOptions(gatewayOptions, options, 'gatewayModel')
  const {fallback} = options
  return async ({gateway, pinned}) => {
    if (fallback && pinned === modelLabel(fallback)) return fallback
    if (pinned) return gateway.open(pinned.slice(pinned.indexOf('/') + 1))
    try {
      const [name] = await gateway.models()
      if (name) return gateway.open(name)
    } catch (error) {
      if (!fallback || !HoldfastError.is(error, 'offline', 'deadline')) throw error
    }
    if (fallback) return fallback
    throw new HoldfastError('misconfigured', 'model: the server offers no model and no fallback is given')
  }
}

/** An agent with its model and tool functions. */
export type AgentHost<Tools extends readonly ToolContract[] = readonly ToolContract[]> = {
  agent: Agent<Tools>
  model: ModelSource
  tools: ToolImplementations<Tools>
  /** Prices and settings that a run pins with its model, keyed by the model's label. */
  modelProfiles?: Readonly<Record<string, Omit<ModelProfile, 'label'>>>
}

/**
 * Combines an agent with its model and tool functions, for a build that serves several agents or versions.
 *
 * @throws HoldfastError `misconfigured` with every invalid field
 * @example
 * serveAgent(desk, {model, tools, also: [agentHost(deskBefore, {model, tools: toolsBefore})]})
 */
export function agentHost<Served extends Agent>(
  agent: Served,
  implementation: Omit<AgentHost<Served['tools']>, 'agent'>,
): AgentHost {
  checkHost(agent, implementation)
  return {agent, ...implementation} as unknown as AgentHost
}

/** Two hosts with the same name and version would make it random which one continues a run. */
export function requireDistinct(hosts: readonly AgentHost[]): void {
  for (const {agent, model} of hosts) requireModelSource(model, `agent ${agent.name}: model`)
  const names = hosts.map(({agent}) => `"${agent.name}" ${agent.version}`)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice) misconfigured(`agents: this build serves ${twice} twice`)
}

/** Returns the error for something that this build lacks. The run waits for another build and does not fail. [PIN-3] */
export function lacking(message: string): HoldfastError {
  return new HoldfastError('misconfigured', message, {details: {waitFor: 'version'}})
}

function configured<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const checked = schema.safeParse(value)
  return checked.success ? checked.data : misconfigured(badInput(what, checked.error, value).message)
}

function misconfigured(message: string): never {
  throw new HoldfastError('misconfigured', message)
}
