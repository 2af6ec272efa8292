import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import {textStart} from '../../runtime/protocol/text.ts'
import type {ModelAllowance} from './config.ts'
import type {CallOptions} from './language-model.ts'

/** Limits of one request. */
const mostTools = 128
const toolBytes = 256 * 1024
const mostStops = 16
const longestStop = 500
/** Maximum output tokens that a device may request if the offer declares no limit. */
const defaultOutputTokens = 65_536

/**
 * Restricts a request to the options that a device may decide. Provider options pass if the offer allows them by
 * name. Provider metadata on the model's own earlier output is passed back; on all other parts it is dropped.
 *
 * @throws HoldfastError `bad_input` naming an option, a provider tool or a size that the offer does not allow
 */
export function allowedOptions(options: CallOptions, allow: ModelAllowance = {}): CallOptions {
  const {providerOptions, tools, stopSequences, maxOutputTokens, reasoning, prompt, ...rest} = options
  const mostTokens = allow.maxOutputTokens ?? defaultOutputTokens
  const tokens = maxOutputTokens === undefined ? allow.maxOutputTokens : Math.min(maxOutputTokens, mostTokens)
  const own = allowedProviderOptions(providerOptions, allow)
  const stops = stopSequences?.slice(0, mostStops).map(stop => textStart(stop, longestStop))
  return {
    ...rest,
    prompt: prompt.map(plainMessage),
    ...(tools && {tools: allowedTools(tools, allow)}),
    ...(tokens !== undefined && {maxOutputTokens: tokens}),
    ...(stops && {stopSequences: stops}),
    ...(reasoning !== undefined && allow.reasoning && {reasoning}),
    ...(own && {providerOptions: own}),
  }
}

type ProviderOptions = CallOptions['providerOptions']

function allowedProviderOptions(asked: ProviderOptions, {providerOptions = {}}: ModelAllowance): ProviderOptions {
  const entries = Object.entries(asked ?? {}).flatMap(([provider, fields]) => {
    const names = Object.hasOwn(providerOptions, provider) ? (providerOptions[provider] ?? []) : []
    const refused = Object.keys(fields).find(name => !names.includes(name))
    if (refused !== undefined)
      refuse(`providerOptions.${provider}.${refused}`, 'expected no option that is not allowed for this model')
    return Object.keys(fields).length > 0 ? [[provider, fields] as const] : []
  })
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

type Tools = NonNullable<CallOptions['tools']>

function allowedTools(tools: Tools, {providerTools = []}: ModelAllowance): Tools {
  if (tools.length > mostTools) refuse('tools', `expected at most ${mostTools} tools`)
  if (JSON.stringify(tools).length > toolBytes) refuse('tools', `expected at most ${toolBytes} characters of tools`)
  return tools.map((tool, i) => {
    if (tool.type === 'function') {
      const {type, name, description, inputSchema} = tool
      return {type, name, ...(description !== undefined && {description}), inputSchema}
    }
    if (!providerTools.includes(tool.id))
      refuse(`tools.${i}`, 'expected no tool of the provider that is not allowed for this model')
    return tool
  })
}

type Message = CallOptions['prompt'][number]

/** Keeps provider metadata only on assistant messages: a device must not add metadata to its own. */
function plainMessage(message: Message): Message {
  const {providerOptions: _, ...plain} = message
  if (plain.role === 'system' || typeof plain.content === 'string') return plain as Message
  const keep = plain.role === 'assistant' ? ownWords : withoutOptions
  return {...plain, content: (plain.content as readonly Part[]).map(keep)} as Message
}

type Part = {providerOptions?: ProviderOptions; output?: {providerOptions?: unknown}}

function withoutOptions({providerOptions: _, ...part}: Part): Part {
  if (typeof part.output !== 'object' || part.output === null) return part
  const {providerOptions: __, ...output} = part.output
  return {...part, output}
}

/** Options that make a provider cache or store a prompt at a price, for all providers. */
const priced = /^cache|cache_?(control|point)|ttl$/i

function ownWords(part: Part): Part {
  const {providerOptions, ...plain} = part
  const entries = Object.entries(providerOptions ?? {}).map(([provider, fields]) => {
    const kept = Object.entries(fields as {[key: string]: Json}).filter(([name]) => !priced.test(name))
    return [provider, Object.fromEntries(kept)] as const
  })
  return entries.length > 0 ? {...plain, providerOptions: Object.fromEntries(entries)} : plain
}

function refuse(field: string, expected: string): never {
  throw new HoldfastError('bad_input', `${field}: ${expected}`, {details: {issues: [{field, expected}]}})
}
