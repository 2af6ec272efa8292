import type {Environment} from '../protocol/environment.ts'
import {badInput, HoldfastError} from '../protocol/errors.ts'
import type {DataOf} from '../protocol/event.ts'
import {type Json, jsonObjectSchema, jsonSchema} from '../protocol/json.ts'
import {countedUsage, isCutStream} from '../protocol/model-finish.ts'
import type {ReplyPart} from '../protocol/run.ts'
import {textStart} from '../protocol/text.ts'
import type {ToolContract} from '../protocol/tool.ts'
import type {ModelStreamPart} from './language-model.ts'
import {opaquePart} from './opaque-part.ts'

type Reply = DataOf<'model.replied'>
type Words = Extract<ReplyPart, {type: 'text' | 'reasoning'}>

/** Characters of a reply after which reading stops, because more could not be stored. */
export const longestReply = 8 * 1024 * 1024

/** Assembles the parts of a stream into a reply. Unknown parts are kept by their type. [LOG-6] */
export class ReplyBuilder {
  readonly #content: ReplyPart[] = []
  readonly #open = new Map<string, Words>()
  #text = ''
  #size = 0
  #end: Pick<Reply, 'finish' | 'usage'> | null = null

  constructor(
    private readonly call: {tools: readonly ToolContract[]; environment: Environment; onText(text: string): void},
  ) {}

  get hasContent(): boolean {
    return this.#content.length > 0
  }

  /** Takes what providers really send: a field that should be there and is not costs that field, not the paid reply. */
  take(part: ModelStreamPart | null | undefined): 'more' | 'enough' {
    if (!part?.type) return 'more'
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#start(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata)
        break
      case 'text-delta':
      case 'reasoning-delta':
        this.#extend(part.type === 'text-delta' ? 'text' : 'reasoning', part.id, part.delta, part.providerMetadata)
        break
      case 'text-end':
      case 'reasoning-end':
        this.#extend(part.type === 'text-end' ? 'text' : 'reasoning', part.id, '', part.providerMetadata)
        if ('citations' in part && part.citations)
          this.#keep(opaquePart({type: 'citations', citations: part.citations}))
        break
      case 'tool-call':
        this.#keep(part.providerExecuted ? opaquePart(part) : this.#toolCall(part))
        break
      case 'error':
        throw part.error
      case 'finish':
        if (isCutStream(part)) throw cutStream(part.finishReason?.unified ?? null)
        this.#end = {finish: finishOf(part.finishReason?.unified), usage: countedUsage(part.usage)}
        break
      // Not part of the reply. The input of a call is repeated in its `tool-call` part.
      case 'stream-start':
      case 'response-metadata':
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        break
      default:
        this.#keep(opaquePart(part))
    }
    return this.#size > longestReply ? 'enough' : 'more'
  }

  reply(): Reply {
    if (this.#end) return {content: this.#content, ...this.#end}
    if (this.#size > longestReply) return this.cutReply('size')
    throw cutStream(null)
  }

  /** The reply so far, marked as cut. */
  cutReply(cut: 'size' | 'time'): Reply {
    return {content: this.#content, finish: 'length', usage: {inputTokens: null, outputTokens: null}, cut}
  }

  #keep(part: ReplyPart): void {
    this.#content.push(part)
    if (part.type === 'call' || part.type === 'opaque') this.#size += JSON.stringify(part).length
  }

  #start(type: Words['type'], id: string, metadata: unknown): Words {
    const part: Words = {type, text: '', ...metadataOf(metadata)}
    this.#open.set(id, part)
    this.#content.push(part)
    return part
  }

  #extend(type: Words['type'], id: string, delta: unknown, metadata: unknown): void {
    const part = this.#open.get(id) ?? this.#start(type, id, metadata)
    Object.assign(part, metadataOf(metadata))
    if (typeof delta !== 'string' || !delta) return
    part.text += delta
    this.#size += delta.length
    if (part.type !== 'text') return
    this.#text += delta
    this.call.onText(this.#text)
  }

  #toolCall(part: Extract<ModelStreamPart, {type: 'tool-call'}>): ReplyPart {
    const name = typeof part.toolName === 'string' ? part.toolName : ''
    const {input, fault} = readInput(name, part.input, this.call.tools)
    return {
      type: 'call',
      call: this.call.environment.id('call'),
      providerCall: typeof part.toolCallId === 'string' ? textStart(part.toolCallId, 500) : '',
      // An impossible tool name becomes a fault that the model can correct; the reply is kept.
      tool: textStart(name, 100) || 'unnamed',
      input,
      ...(fault && {fault: textStart(fault, 2000)}),
      ...metadataOf(part.providerMetadata),
    }
  }
}

function cutStream(finish: string | null): HoldfastError {
  const message =
    finish === 'error'
      ? 'The model ended its reply with an error.'
      : 'The model’s reply broke off: its stream ended before the reply was complete.'
  return new HoldfastError('model_failed', message, {details: {reason: 'broken', retryable: true}})
}

const finishes = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'] as const

/** Unknown reasons of later specifications become `other`. */
function finishOf(unified: unknown): Reply['finish'] {
  return finishes.find(known => known === unified) ?? 'other'
}

function metadataOf(metadata: unknown): {providerMetadata?: {[key: string]: Json}} {
  const parsed = jsonObjectSchema.safeParse(metadata)
  return parsed.success ? {providerMetadata: parsed.data} : {}
}

/** The stream carries input as a JSON string; what cannot be used goes back to the model as the call's error. [OP-7] */
function readInput(name: string, given: unknown, tools: readonly ToolContract[]): {input: Json; fault?: string} {
  let input: unknown = given ?? {}
  try {
    if (typeof given === 'string') input = JSON.parse(given === '' ? '{}' : given)
  } catch {
    return {input: String(given), fault: `${name}: the input is not JSON`}
  }
  const representable = jsonSchema.safeParse(input)
  if (!representable.success) return {input: null, fault: badInput(name, representable.error).message}
  const tool = tools.find(candidate => candidate.name === name)
  if (!tool)
    return {
      input: representable.data,
      fault: `There is no tool named "${name}"; there are: ${tools.map(each => each.name).join(', ')}`,
    }
  const checked = tool.input.safeParse(input)
  return checked.success
    ? {input: representable.data}
    : {input: representable.data, fault: badInput(name, checked.error).message}
}
