import type {LanguageModelV3Prompt, LanguageModelV4Prompt} from '@ai-sdk/provider'
import * as z from 'zod'
import type {ModelSource} from '../loop/define.ts'
import type {LanguageModel, ModelStream} from '../loop/language-model.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {memoryKeySchema, memoryKindSchema, memoryTextSchema} from '../protocol/memory.ts'
import {modelFault} from '../protocol/model-fault.ts'
import {isCutStream} from '../protocol/model-finish.ts'
import type {ExtractorHost, MemoryDraft, MemoryExtractor, SaidInRun} from './extractor.ts'

const instructions = `You decide what a personal assistant should remember about the person it works for.
You are given numbered lines of one conversation and what is remembered already.
Propose only what will still be useful in another conversation: lasting facts about the person, preferences, standing instructions.
Never propose what is remembered already, one-off requests, guesses, secrets, or anything about business records such as orders.
Answer with JSON alone: {"memories": [{"text": "one sentence in the third person", "key": "preference/refund-channel" or null,
"kind": "fact" | "preference" | "instruction" | "episode", "lines": [numbers of the lines that say so],
"confidence": 0 to 1, "replaces": number of the remembered item that it makes untrue, or null}]}.
An empty list is a good answer.`

const answerSchema = z.object({memories: z.array(z.unknown()).max(50)})
const proposedSchema = z.object({
  text: memoryTextSchema,
  key: memoryKeySchema.nullish(),
  kind: memoryKindSchema,
  lines: z.array(z.int()).min(1),
  confidence: z.number().min(0).max(1),
  replaces: z.int().nullish(),
})

/**
 * Returns an extractor that asks a language model for memory items. Entries that are invalid or name no line of the
 * conversation are dropped, because every item needs a source. [MEM-2]
 *
 * @throws HoldfastError (from `extract`) `model_failed` when the reply is not JSON of the expected shape
 * @example
 * serveAgent(desk, {model: gatewayModel(), tools, memory: {extractor: modelExtractor(gatewayModel())}})
 */
export function modelExtractor(source: ModelSource): MemoryExtractor {
  return {
    name: 'model',
    extract: async (said, host) => {
      if (said.lines.every(({from}) => from === 'agent')) return []
      const model = await modelOf(source, host)
      const answer = answerSchema.safeParse(jsonIn(await replyOf(model, promptFor(said), host)))
      if (!answer.success) {
        const message = 'The extraction was answered with no JSON list of memories.'
        throw new HoldfastError('model_failed', message, {details: {retryable: false}})
      }
      return answer.data.memories.flatMap(one => draftOf(one, said) ?? [])
    },
  }
}

function promptFor({lines, known}: SaidInRun): LanguageModelV3Prompt {
  const said = lines.map(({from, text}, i) => `${i + 1}. ${from}: ${JSON.stringify(text)}`)
  const remembered = known.map(({text, key}, i) => `${i + 1}. ${key ? `[${key}] ` : ''}${JSON.stringify(text)}`)
  const text = `Remembered already:\n${remembered.join('\n') || 'nothing'}\n\nThe conversation:\n${said.join('\n')}`
  return [
    {role: 'system', content: instructions},
    {role: 'user', content: [{type: 'text', text}]},
  ]
}

async function modelOf(source: ModelSource, {gateway}: ExtractorHost): Promise<LanguageModel> {
  const chosen = typeof source === 'function' ? await source({gateway, pinned: null}) : source
  const fault = modelFault(chosen)
  if (fault) throw new HoldfastError('misconfigured', `modelExtractor: ${fault}`)
  return chosen
}

async function streamOf(
  model: LanguageModel,
  prompt: LanguageModelV3Prompt,
  signal: AbortSignal,
): Promise<ModelStream> {
  const options = {abortSignal: signal, responseFormat: {type: 'json'} as const}
  // A prompt with only text parts is identical in both versions of the specification.
  if (model.specificationVersion === 'v4') {
    return (await model.doStream({...options, prompt: prompt as LanguageModelV4Prompt})).stream
  }
  return (await model.doStream({...options, prompt})).stream
}

async function replyOf(model: LanguageModel, prompt: LanguageModelV3Prompt, {signal}: ExtractorHost): Promise<string> {
  const stream = await streamOf(model, prompt, signal)
  let text = ''
  let finished = false
  for await (const part of stream) {
    if (!part?.type) continue
    if (part.type === 'text-delta') text += part.delta ?? ''
    if (part.type === 'error') throw part.error
    if (part.type === 'finish') finished = !isCutStream(part)
  }
  // An incomplete reply is an error that allows a retry.
  if (!finished) throw new HoldfastError('model_failed', 'the stream ended early', {details: {retryable: true}})
  return text
}

/** Parses the outermost JSON object, because models often wrap it in prose or a code fence. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
  } catch {
    return null
  }
}

function draftOf(value: unknown, {lines, known}: SaidInRun): MemoryDraft | null {
  const parsed = proposedSchema.safeParse(value)
  if (!parsed.success) return null
  const {text, key, kind, confidence, replaces} = parsed.data
  const events = parsed.data.lines.flatMap(number => lines[number - 1]?.event ?? [])
  if (events.length === 0) return null
  const replaced = replaces ? known[replaces - 1]?.id : undefined
  return {text, kind, confidence, events, ...(key && {key}), ...(replaced && {supersedes: replaced})}
}
