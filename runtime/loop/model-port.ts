import type {LanguageModelV3, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import * as z from 'zod'
import type {Environment} from '../protocol/environment.ts'
import {badInput, HoldfastError} from '../protocol/errors.ts'
import type {DataOf} from '../protocol/event.ts'
import {type Json, jsonObjectSchema, jsonSchema} from '../protocol/json.ts'
import {type ModelCallName, modelCallOption} from '../protocol/model-call.ts'
import type {ModelSettings} from '../protocol/pin.ts'
import {redactText} from '../protocol/redact-secrets.ts'
import type {ReplyPart} from '../protocol/run.ts'
import type {ToolContract} from '../protocol/tool.ts'
import {beforeAbort} from './before-abort.ts'
import type {PreparedView} from './prepare-view.ts'

export type Reply = DataOf<'model.replied'>

export type ModelCall = {
  model: LanguageModelV3
  view: PreparedView
  tools: readonly ToolContract[]
  /** As the run pinned them; the provider's own where it pinned none. */
  settings?: ModelSettings | undefined
  signal: AbortSignal
  environment: Environment
  /** Under which a gateway makes this call once; a provider asked directly reads past it, a summary has none. */
  name?: ModelCallName
  /** Told the whole text so far on every piece; nothing of it is stored. */
  onText(text: string): void
}

/**
 * One model call from prompt to a complete reply.
 *
 * @throws HoldfastError `model_failed` (details.retryable) when the stream breaks, reports an error, or ends without
 * its `finish` part: half a reply is no reply.
 */
export async function callModel(call: ModelCall): Promise<Reply> {
  const gathered = new ReplyBuilder(call)
  try {
    const {prompt, tools} = call.view
    const {stream} = await beforeAbort(
      call.signal,
      call.model.doStream({
        ...call.settings,
        prompt,
        tools: tools.length > 0 ? tools : undefined,
        abortSignal: call.signal,
        ...(call.name && {providerOptions: {[modelCallOption]: {...call.name}}}),
      }),
    )
    await readParts(stream, call.signal, part => gathered.take(part))
  } catch (error) {
    call.signal.throwIfAborted()
    throw modelError(error)
  }
  return gathered.reply()
}

/** Reads to the end, or until the signal says stop, whether or not the stream listens to it. */
async function readParts(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  signal: AbortSignal,
  take: (part: LanguageModelV3StreamPart) => void,
): Promise<void> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const {done, value} = await beforeAbort(signal, reader.read())
      if (done) return
      take(value)
    }
  } catch (error) {
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}

function modelError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error
  const message = error instanceof Error ? error.message : String(error)
  // First without its secrets, then cut: half a key would no longer look like one. [VIEW-5]
  return new HoldfastError('model_failed', redactText(message).slice(0, 1000), {
    cause: error,
    details: {retryable: isRetryable(error), ...retryAfterOf(error)},
  })
}

/** Providers mark what may pass; without a mark a broken connection is worth another try. */
function isRetryable(error: unknown): boolean {
  if (typeof error === 'object' && error !== null && 'isRetryable' in error) return error.isRetryable === true
  return true
}

/** How long a provider asks to be left alone, in its words: the header's seconds, or milliseconds where it sends those. */
function retryAfterOf(error: unknown): {retryAfterMs?: number} {
  const parsed = retryAfterSchema.safeParse(error)
  if (!parsed.success) return {}
  const {'retry-after-ms': ms, 'retry-after': seconds} = parsed.data.responseHeaders
  const asked = ms ?? (seconds === undefined ? undefined : seconds * 1000)
  return asked === undefined ? {} : {retryAfterMs: asked}
}

const wholeNumber = z
  .string()
  .regex(/^\d{1,9}$/)
  .transform(Number)
  .optional()
const retryAfterSchema = z.object({
  responseHeaders: z.object({'retry-after-ms': wholeNumber, 'retry-after': wholeNumber}),
})

class ReplyBuilder {
  readonly #content: ReplyPart[] = []
  readonly #open = new Map<string, Extract<ReplyPart, {type: 'text' | 'reasoning'}>>()
  #text = ''
  #end: Pick<Reply, 'finish' | 'usage'> | null = null

  constructor(private readonly call: ModelCall) {}

  take(part: LanguageModelV3StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#start(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata)
        return
      case 'text-delta':
      case 'reasoning-delta':
        this.#extend(part.id, part.delta, part.providerMetadata)
        return
      case 'text-end':
      case 'reasoning-end':
        this.#extend(part.id, '', part.providerMetadata)
        return
      case 'tool-call':
        this.#content.push(this.#toolCall(part))
        return
      case 'error':
        throw part.error
      case 'finish':
        this.#end = {
          finish: part.finishReason.unified,
          usage: {
            inputTokens: countOf(part.usage.inputTokens.total),
            outputTokens: countOf(part.usage.outputTokens.total),
          },
        }
    }
  }

  reply(): Reply {
    if (!this.#end) {
      throw new HoldfastError('model_failed', 'the stream ended without its finish part', {details: {retryable: true}})
    }
    return {content: this.#content, ...this.#end}
  }

  #start(type: 'text' | 'reasoning', id: string, metadata: unknown): void {
    const part: Extract<ReplyPart, {type: 'text' | 'reasoning'}> = {type, text: '', ...metadataOf(metadata)}
    this.#open.set(id, part)
    this.#content.push(part)
  }

  #extend(id: string, delta: string, metadata: unknown): void {
    const part = this.#open.get(id)
    if (!part) throw new HoldfastError('model_failed', `the stream extends part "${id}", which it never started`)
    part.text += delta
    Object.assign(part, metadataOf(metadata))
    if (part.type !== 'text' || !delta) return
    this.#text += delta
    this.call.onText(this.#text)
  }

  #toolCall(part: Extract<LanguageModelV3StreamPart, {type: 'tool-call'}>): ReplyPart {
    const {input, fault} = readInput(part.toolName, part.input, this.call.tools)
    return {
      type: 'call',
      call: this.call.environment.id('call'),
      providerCall: part.toolCallId.slice(0, 500),
      // A name that no tool can have is a fault to mend for the model, not a reply to lose.
      tool: part.toolName.slice(0, 100) || 'unnamed',
      input,
      ...(fault && {fault: fault.slice(0, 2000)}),
      ...metadataOf(part.providerMetadata),
    }
  }
}

/** Providers count as they like; what is no count is not known. */
function countOf(tokens: number | undefined): number | null {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null
}

function metadataOf(metadata: unknown): {providerMetadata?: {[key: string]: Json}} {
  const parsed = jsonObjectSchema.safeParse(metadata)
  return parsed.success ? {providerMetadata: parsed.data} : {}
}

/** The stream carries input as a JSON string; what cannot be used goes back to the model as the call's error. [OP-7] */
function readInput(name: string, text: string, tools: readonly ToolContract[]): {input: Json; fault?: string} {
  let input: Json
  try {
    input = JSON.parse(text === '' ? '{}' : text) as Json
  } catch {
    return {input: text, fault: `${name}: the input is not JSON`}
  }
  const representable = jsonSchema.safeParse(input)
  if (!representable.success) return {input: null, fault: badInput(name, representable.error).message}
  const tool = tools.find(candidate => candidate.name === name)
  if (!tool)
    return {input, fault: `There is no tool named "${name}"; there are: ${tools.map(each => each.name).join(', ')}`}
  const checked = tool.input.safeParse(input)
  return checked.success ? {input} : {input, fault: badInput(name, checked.error).message}
}
